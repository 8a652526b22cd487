"""Operators of the programs' own: rows at their own times, late rows brought in line, each row several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.random_programs.rows import FACTOR, PRIME, scrambled
from tokenring.engine import Batch, InputPort, Notify, OperatorContext, OutputPort, Schema, Stream, Token
from tokenring.operators.migrate import state_moves


def at_own_times(stream: Stream, column: str = "at", timed: bool = True) -> Stream:
    """Each row at its own time, those of a message as one burst; not timed: at that of the message, those of each value
    as a message of their own."""

    def give(output: OutputPort, reference: Any, batch: Batch) -> None:
        held = reference.retain()
        ascending = batch.take(np.argsort(batch[column], kind="stable"))
        output.give_each(held, ascending, ascending[column], timed)
        held.drop()

    return _answered(stream, "own times", give)


def settled(stream: Stream) -> Stream:
    """Rows whose own times are before their messages' get these."""
    position = stream.schema.position("at")

    def give(output: OutputPort, reference: Any, batch: Batch) -> None:
        columns = list(batch.columns)
        columns[position] = np.maximum(batch["at"], reference.time)
        output.give(reference, Batch.wrap(stream.schema, tuple(columns), batch.rows, batch.heaps, batch))

    return _answered(stream, "settled", give)


def stamped(stream: Stream, always: int | None = None) -> Stream:
    """Rows with the time of their message, or the same one always, before them."""
    schema = Schema.of({"time": "int64"} | stream.schema.spec())

    def give(output: OutputPort, reference: Any, batch: Batch) -> None:
        times = np.full(batch.rows, reference.time if always is None else always)
        heaps = (None, *batch.heaps) if schema.has_text else ()
        output.give(reference, Batch.wrap(schema, (times, *batch.columns), batch.rows, heaps, batch))

    return _answered(stream, "stamped", give, schema)


def _answered(
    stream: Stream, name: str, give: Callable[[OutputPort, Any, Batch], None], schema: Schema | None = None
) -> Stream:
    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                give(output, reference, batch)

        return logic

    builder = stream.operator(name, Notify.NEVER)
    builder.input(stream)
    state_moves(builder)
    made = builder.output(schema or stream.schema)
    builder.build(construct)
    return made


def twice(batch: Batch) -> dict[str, Any]:
    """Each row as two, of ids of their own."""
    chosen = np.repeat(np.arange(batch.rows), 2)
    made = {name: batch[name][chosen] for name in batch.schema.names}
    return made | {"id": scrambled((made["id"] * FACTOR + np.arange(2 * batch.rows) % 2) % PRIME)}


def numbered(state: int | None, row: Any) -> Any:
    """How many rows a key had before."""
    n = (state or 0) + 1
    return n, {"n": n}


def sums(rows: Batch, starts: np.ndarray) -> dict[str, np.ndarray]:
    """The sum of each key's values, and the greatest id."""
    return {"total": np.add.reduceat(rows["v"], starts), "most": np.maximum.reduceat(rows["id"], starts)}
