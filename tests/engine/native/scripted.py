"""A compiled operator that does what a list of words says, so that one entry serves every test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tokenring.engine import Exchange, Notify, OperatorContext, Pact, Schema, Stream
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Compiled,
    answer,
    column_of,
    downgrade,
    drop,
    entry,
    fail,
    frontier_at,
    monotonic_now_ns,
    new_message,
    peek,
    retain,
    rows_of,
    send,
    state_of,
    take,
    wake_at,
)

(
    RETURN, TAKE, PEEK, IF_ZERO, GO, ANSWER, RETAIN, DOWNGRADE, DROP, SEND, NEW, SET, ADD, WAKE, FAIL, FRONTIER, ROWS,
) = range(17)  # fmt: skip
REGISTERS = 16
_LINES, _SCRIPT, _WORDS = REGISTERS, REGISTERS + 1, 1024


@entry
def scripted(world, me):  # type: ignore[no-untyped-def]
    """Run the lines (operation, three operands) from the first to a RETURN. Registers stay from run to run."""
    state = state_of(world, me, _WORDS)
    line = 0
    while line < state[_LINES]:
        at = _SCRIPT + 4 * line
        what, a, b, c = state[at], state[at + 1], state[at + 2], state[at + 3]
        line += 1
        if what == RETURN:
            return a
        elif what == TAKE:
            state[b] = take(world, me, a)
        elif what == PEEK:
            state[b] = peek(world, me, a)
        elif what == IF_ZERO:
            line = b if state[a] == 0 else line
        elif what == GO:
            line = a
        elif what == ANSWER:
            answer(world, me, a, b, state[c])
        elif what == RETAIN:
            state[c] = retain(world, me, a, b)
        elif what == DOWNGRADE:
            downgrade(world, me, state[a], b)
        elif what == DROP:
            drop(world, me, state[a])
        elif what == SEND:
            send(world, me, state[a], state[b], c)
        elif what == NEW:
            state[c] = message = new_message(world, me, a, b)
            column_of(message, 0)[:] = np.arange(b)
        elif what == SET:
            state[a] = b
        elif what == ADD:
            state[a] += b
        elif what == WAKE:
            wake_at(world, me, monotonic_now_ns() + a)
        elif what == FAIL:
            fail(world, me, a, b, c, 0)
        elif what == FRONTIER:
            state[b] = frontier_at(world, me, a)
        elif what == ROWS:
            state[b] = rows_of(state[a])
    return DONE


Line = tuple[int, ...]
M = 14  # the register of messages
# Drop the tokens it begins with (registers 0 and up), in the first run only.
FIRST: list[Line] = [(IF_ZERO, 15, 2), (GO, 4), (DROP, 0), (SET, 15, 1)]


def forward(outputs: int = 1) -> list[Line]:
    """Answer every message with itself, at each output."""
    answers: list[Line] = [(ANSWER, 0, output, M) for output in range(outputs)]
    drops: list[Line] = [(DROP, output) for output in range(outputs)]
    first = outputs + 3
    return [
        *((IF_ZERO, 15, 2), (GO, first), *drops, (SET, 15, 1)),
        *((TAKE, 0, M), (IF_ZERO, M, first + 3 + outputs), *answers, (GO, first), (RETURN, DONE)),
    ]


def later() -> list[Line]:
    """As `forward`, but begin to take only after as many runs as register 2 is below zero."""
    waits: list[Line] = [(ADD, 2, 1), (IF_ZERO, 2, 7), (RETURN, AGAIN)]
    return [*FIRST, *waits, (SET, 2, -1), (TAKE, 0, M), (IF_ZERO, M, 12), (ANSWER, 0, 0, M), (GO, 8), (RETURN, DONE)]


def state_for(script: list[Line]) -> np.ndarray:
    """The words of an operator that runs this."""
    state = np.zeros(_WORDS, np.int64)
    state[_LINES] = len(script)
    for number, line in enumerate(script):
        state[_SCRIPT + 4 * number : _SCRIPT + 4 * number + len(line)] = line
    return state


def operate(
    stream: Stream,
    script: list[Line],
    name: str = "compiled",
    outputs: int = 1,
    pact: Pact | None = None,
    notify: Notify = Notify.ALWAYS,
    schema: Schema | None = None,
    states: list[np.ndarray] | None = None,
    texts: bool = False,
    reads_texts: bool = True,
    loops: bool = False,
    make_room: Callable[[], None] | None = None,
) -> list[Stream]:
    """An operator behind `stream` that runs the script; its state is appended to `states`."""
    builder = stream.scope.operator(name, notify)
    builder.input(stream, pact)
    made: list[Stream] = [builder.output(schema or stream.schema) for _ in range(outputs)]

    def construct(_: OperatorContext) -> Compiled:
        state = state_for(script)
        if states is not None:
            states.append(state)
        return Compiled(scripted, state, make_room=make_room)

    builder.build_compiled(construct, texts=texts, reads_texts=reads_texts, loops=loops)
    return made


BY_VALUE = Exchange("value")
