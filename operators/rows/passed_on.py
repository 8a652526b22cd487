"""Operators that hand on what comes, compiled: messages by reference, bursts whole."""

from tokenring.engine.compiled import DONE, Compiled, Record, answer, drop, entry, state_as, take


class PassingOn(Record):
    """`first`: the slot of the token that it begins with, then -1. `ports`: the number of inputs."""

    first: int
    ports: int


@entry
def pass_on(world: int, me: int) -> int:
    """Answer each message with itself."""
    state = state_as(world, me, PassingOn)
    if state.first >= 0:
        drop(world, me, state.first)
        state.first = -1
    for port in range(state.ports):
        while True:
            message = take(world, me, port)
            if message == 0:
                break
            answer(world, me, port, 0, message)
    return DONE


def passing_on(inputs: int = 1) -> Compiled:
    """An operator that hands on, at its one output, what comes at its inputs."""
    state = PassingOn()
    state.ports = inputs
    return Compiled(pass_on, state.words)
