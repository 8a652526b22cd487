"""Streams of updates: the columns that they have besides data, and how they come to have them."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import Batch, InputPort, Notify, OperatorContext, OutputPort, Schema, SchemaError, Stream, Token
from tokenring.engine.times import coordinates

TIMES = tuple([f"@{at}" for at in range(4)])
"""A row's own time, a column for each coordinate; a message's is less than or equal to those of its rows."""
TIMES_ADDED = "@times"
"""How many times a row is added; below 0, taken away."""


def schema_of_updates(data: Schema, depth: int) -> Schema:
    """Data, then the coordinates of times, then the multiplicity."""
    kinds = {name: str(kind) for name, kind in zip(data.names, data.kinds, strict=True)}
    return Schema.of(kinds | dict.fromkeys((*TIMES[:depth], TIMES_ADDED), "int64"))


def stamped(stream: Stream, data: Schema, time: str | None, times: str | None, name: str) -> Stream:
    """Rows of a root scope's stream as updates: at their message's time, or that of the column `time`, each once, or as
    often as `times` says."""
    depth = stream.scope.depth
    schema = schema_of_updates(data, depth)
    positions = [stream.schema.position(column) for column in data.names]
    at = None if time is None else stream.schema.position(time)
    often = None if times is None else stream.schema.position(times)

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                if not batch.rows:
                    continue
                own = [np.full(batch.rows, coordinate) for coordinate in coordinates(reference.time)]
                if at is not None:
                    early = batch.columns[at] < reference.time
                    if early.any():
                        raise ValueError(
                            f"operator {name!r}: an update at {batch.columns[at][early][0]} came at time "
                            f"{reference.time}: no update is earlier than its message; send it before the input "
                            f"advances"
                        )
                    own = [batch.columns[at]]
                diff = np.ones(batch.rows, np.int64) if often is None else batch.columns[often]
                columns = (*[batch.columns[position] for position in positions], *own, diff)
                output.give(reference, Batch.wrap(schema, columns, batch.rows, of=batch))

        return logic

    return stream.unary(name, schema, construct, notify=Notify.NEVER)


def next_round(stream: Stream, data: Schema, most: int, name: str) -> Stream:
    """Updates of a loop, each a round later. ValueError for those beyond round `most`."""
    depth = stream.scope.depth
    at = stream.schema.position(TIMES[depth - 1])

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                later = batch.columns[at] + 1
                if batch.rows and later.max() > most:
                    row = int(later.argmax())
                    found = {column: batch[column][row].item() for column in data.names}
                    raise ValueError(
                        f"operator {name!r}: after {most:,} rounds rows change still, {found} for one; if the loop "
                        f"comes to an end, give it more: rounds={10 * most:_}"
                    )
                columns = (*batch.columns[:at], later, *batch.columns[at + 1 :])
                output.give(reference, Batch.wrap(stream.schema, columns, batch.rows, of=batch))

        return logic

    return stream.unary(name, stream.schema, construct, notify=Notify.NEVER)


def require_words(name: str, schema: Schema) -> None:
    """SchemaError for columns that cannot be compared by their words."""
    for column, kind in zip(schema.names, schema.kinds, strict=True):
        if kind.is_text or str(kind).startswith("float64"):
            raise SchemaError(
                f"operator {name!r}: column {column!r} is {kind}; a collection is arranged by numbers that are whole, "
                f"timestamps and booleans"
            )
