"""Loops within loops for tests, and the times at which rows should come by in them, walked one row at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine.helpers import VALUE
from tokenring.engine import (
    Batch,
    Exchange,
    InputPort,
    Loop,
    Notify,
    OperatorContext,
    OutputPort,
    Pact,
    Pipeline,
    Probe,
    Scope,
    Stream,
    TokenRef,
)
from tokenring.operators import union


class Witness:
    """An operator in the innermost loop of one worker: passes rows on, and remembers times, and what was finished."""

    def __init__(self, watched: list[Any]) -> None:
        self.rows: list[tuple[Any, int]] = []
        """(time, value) of each row."""
        self._open = list(watched)
        self.finished: set[Any] = set()
        """Those of the watched times that the frontier has passed."""

    def construct(self, context: OperatorContext, token: Any) -> Callable[..., None]:
        """The operator's constructor."""
        token.drop()

        def logic(messages: InputPort, output: OutputPort) -> None:
            for time in [time for time in self._open if messages.finished(time)]:
                self._open.remove(time)
                self.finished.add(time)
            for reference, batch in messages:
                assert reference.time not in self.finished, f"{reference.time} was finished"
                assert not messages.finished(reference.time)
                self.rows += [(reference.time, value) for value in batch["value"].tolist()]
                output.give(reference, batch)

        return logic


def nested(
    scope: Scope, stream: Stream, levels: int, witness: Witness, pact: Pact, probes: list[Probe] | None = None
) -> Stream:
    """So many loops around a witness. At the end of each loop a row goes round if its last ternary digit is not 0, less
    by 1; otherwise it leaves without that digit. probes: gets one of each loop's head, outermost first.
    """
    if levels == 0:
        return stream.unary("witness", VALUE, witness.construct, pact)
    with scope.loop(f"loop {levels}") as loop:
        back = loop.feedback(VALUE, increment=levels)
        head = union(loop.enter(stream), back.stream)
        if probes is not None:
            probes.append(head.probe())
        again, done = fork(loop, nested(loop, head, levels - 1, witness, pact, probes))
        back.connect(again)
    return loop.leave(done)


def fork(loop: Loop, stream: Stream) -> tuple[Stream, Stream]:
    """What goes round, and what leaves."""
    builder = loop.operator("fork", Notify.NEVER)
    builder.input(stream, Pipeline())
    again, done = builder.output(VALUE), builder.output(VALUE)

    def construct(context: OperatorContext, *tokens: Any) -> Callable[..., None]:
        for token in tokens:
            token.drop()

        def logic(messages: InputPort, again: OutputPort, done: OutputPort) -> None:
            for reference, batch in messages:
                values = batch["value"]
                rounds = values % 3 > 0
                again.give(reference, Batch(VALUE, {"value": values[rounds] - 1}))
                done.give(reference, Batch(VALUE, {"value": values[~rounds] // 3}))

        return logic

    builder.build(construct)
    return again, done


def walk(time: tuple[int, ...], value: int, levels: int, rows: list[tuple[Any, int]]) -> int:
    """The value that leaves `levels` loops for one that comes in at `time`; appends what the witness sees to `rows`."""
    if levels == 0:
        rows.append((time if len(time) > 1 else time[0], value))
        return value
    at_round = 0
    while True:
        value = walk((*time, at_round), value, levels - 1, rows)
        if value % 3 == 0:
            return value // 3
        value -= 1
        at_round += levels


EXCHANGE = Exchange("value")


def around(scope: Scope, stream: Stream, again: Callable[[TokenRef], bool]) -> tuple[Loop, Stream]:
    """A loop "around" whose operator "body" sends rows round once more while `again(reference)`; returns it and the
    body's output.
    """
    with scope.loop("around") as loop:
        feedback = loop.feedback(VALUE)
        entered = loop.enter(stream)
        body = loop.operator("body")
        body.input(entered)
        body.input(feedback.stream)
        output = body.output(VALUE)

        def construct(context: OperatorContext, token: Any) -> Callable[..., None]:
            token.drop()

            def logic(entering: InputPort, coming_back: InputPort, out: OutputPort) -> None:
                for port in (entering, coming_back):
                    for reference, batch in port:
                        if again(reference):
                            out.give(reference, batch)

            return logic

        body.build(construct)
        feedback.connect(output)
    return loop, output
