"""Operators that hand on what comes, compiled: messages by reference, bursts whole."""

import numpy as np

from tokenring.engine.compiled import DONE, Compiled, answer, drop, entry, state_of, take

_FIRST, _PORTS, _WORDS = range(3)  # words of the state: the slot of the token it begins with, the number of inputs


@entry
def pass_on(world: int, me: int) -> int:
    """Answer each message with itself."""
    state = state_of(world, me, _WORDS)
    if state[_FIRST] >= 0:
        drop(world, me, state[_FIRST])
        state[_FIRST] = -1
    for port in range(state[_PORTS]):
        while True:
            message = take(world, me, port)
            if message == 0:
                break
            answer(world, me, port, 0, message)
    return DONE


def passing_on(inputs: int = 1) -> Compiled:
    """An operator that hands on, at its one output, what comes at its inputs."""
    state = np.zeros(_WORDS, np.int64)
    state[_PORTS] = inputs
    return Compiled(pass_on, state)
