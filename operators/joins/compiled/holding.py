"""The tokens of a compiled join: the one that it begins with, and the one for rows that wait."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import downgrade, drop, peek, retain, take

FIRST, HELD, PENDING = range(3)
"""The first words of a join's state: the slot of the token it begins with; that of the one token, -1 for none, and its
time."""


@kernel
def hold_from(world, me, side, state, least):  # type: ignore[no-untyped-def]
    """Hold the token at `least`, by the message just taken from `side`, if it is later or there is none."""
    if least < state[PENDING]:
        slot = retain(world, me, side, 0)
        downgrade(world, me, slot, least)
        if state[HELD] >= 0:
            drop(world, me, state[HELD])
        state[HELD], state[PENDING] = slot, least


@kernel
def hold_what_came(world, me, state, least):  # type: ignore[no-untyped-def]
    """Hold the token at `least` by messages of the input for what became due as state moved, which is the third."""
    while peek(world, me, 2) != 0:
        take(world, me, 2)
        hold_from(world, me, 2, state, least)


@kernel
def hold_on_from(world, me, state, least):  # type: ignore[no-untyped-def]
    """Let the token go on to `least`, if it is held before that; drop it if nothing waits."""
    if state[HELD] >= 0 and least > state[PENDING]:
        state[PENDING] = least
        if least == COMPLETE:
            drop(world, me, state[HELD])
            state[HELD] = -1
        else:
            downgrade(world, me, state[HELD], least)
