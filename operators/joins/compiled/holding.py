"""The tokens of a join: the one that it begins with, and the one for rows that wait."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import Words, downgrade, drop, peek, retain, room, take
from tokenring.operators.joins.compiled.keyed import JoinKeys
from tokenring.operators.joins.compiled.results import Results
from tokenring.operators.mechanisms import Beginning


class Joining(Beginning):
    """What the state of joins begins with. `of_late`, `of_waits`: the tokens of two more outputs, where rights stay
    (see rights.py). `held`: the slot of the one token, -1 for none, and `pending`, its time. `at`: by side the row to
    go on with of the message at hand. `wanted`, `wanted_side`: how many rows there was no room for, and on which side;
    0: for a key. `has_due`: whether there is an input for what became due as state moved."""

    of_late: int
    of_waits: int
    held: int
    pending: int
    at: Words = room(2)
    wanted: int
    wanted_side: int
    has_due: int
    keys: JoinKeys
    results: Results


@kernel
def hold_from(world: int, me: int, side: int, state: Joining, least: int) -> None:
    """Hold the token at `least`, by the message just taken from `side`, if it is later or there is none."""
    if least < state.pending:
        slot = retain(world, me, side, 0)
        downgrade(world, me, slot, least)
        if state.held >= 0:
            drop(world, me, state.held)
        state.held, state.pending = slot, least


@kernel
def hold_what_came(world: int, me: int, state: Joining, least: int) -> None:
    """Hold the token at `least` by messages of the input for what became due as state moved, which is the third."""
    while peek(world, me, 2) != 0:
        take(world, me, 2)
        hold_from(world, me, 2, state, least)


@kernel
def hold_on_from(world: int, me: int, state: Joining, least: int) -> None:
    """Let the token go on to `least`, if it is held before that; drop it if nothing waits."""
    if state.held >= 0 and least > state.pending:
        state.pending = least
        if least == COMPLETE:
            drop(world, me, state.held)
            state.held = -1
        else:
            downgrade(world, me, state.held, least)
