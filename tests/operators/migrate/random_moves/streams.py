"""The two streams of rows, and what programs make of them before the operator at hand: other columns, times, rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tokenring import operators
from tokenring.engine import Batch, InputPort, Notify, OperatorContext, OutputPort, Schema, Stream, Token
from tokenring.operators import Max, Tumbling, aggregate, col

ROW = Schema.of({
    "node": "int64", "name": "string", "weight": "float64", "left": "int64", "at": "int64", "id": "int64",
    "ref": "int64",
})  # fmt: skip
"""Of both streams. `at`: the row's own time; `id`: another in each row of a stream; `ref`: some id of the other one."""

JOINED = ["node", "name", "at", "other_name", "other_left"]


def numbers(stream: Stream) -> Stream:
    """Without text."""
    return operators.select(stream, "node", "left", "at", "id")


def other(stream: Stream) -> Stream:
    """The second stream's columns, by names of their own."""
    return operators.select(
        stream, node=col("node"), other_id=col("id"), other_name=col("name"), other_at=col("at"),
        other_left=col("left"),
    )  # fmt: skip


def other_by_id(stream: Stream) -> Stream:
    """The same without `node`."""
    return operators.drop_columns(other(stream), "node")


def intervals(stream: Stream) -> Stream:
    """Of offers: open from `at` on, for `left` + 1."""
    return operators.select(stream, "id", "at", asked=col("left"), until=col("at") + col("left") + 1)


def last(stream: Stream) -> Stream:
    """One version for each key and time."""
    kept = aggregate(numbers(stream), "node", window=Tumbling("at", 1), other_left=Max("left"))
    return operators.with_columns(kept, other_at=col("window_end"), other_name=col("node").cast("string"))


def timed(stream: Stream) -> Stream:
    """Rows with the times of their messages."""
    schema = Schema.of(stream.schema.spec() | {"when": "int64"})

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                heaps = (*batch.heaps, None) if schema.has_text else ()
                when = np.full(batch.rows, reference.time)
                output.give(reference, Batch.wrap(schema, (*batch.columns, when), batch.rows, heaps, batch))

        return logic

    return stream.unary("timed", schema, construct, notify=Notify.NEVER)


def edges(stream: Stream) -> Stream:
    """Rows as edges."""
    return operators.select(stream, src=col("node"), dst=col("left"))


def rounds(stream: Stream) -> Stream:
    """What comes of rows that go round, one less each time, as long as they are the first of their kind."""

    def body(rows: Stream) -> tuple[Stream, Stream]:
        firsts = operators.distinct(rows, "node left")
        less = operators.with_columns(firsts, left=col("left") - 1)
        return operators.filter(less, col("left") >= 0), operators.filter(less, col("left") < 0)

    return operators.iterate(operators.select(stream, "node", "left"), body)


def bursts(stream: Stream) -> Stream:
    """Each row at its own time, those of a message together."""

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                held = reference.retain()
                ascending = batch.take(np.argsort(batch["at"], kind="stable"))
                output.give_each(held, ascending, ascending["at"])
                held.drop()

        return logic

    return stream.unary("bursts", stream.schema, construct, notify=Notify.NEVER)
