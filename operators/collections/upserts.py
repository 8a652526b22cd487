"""Rows by key as streams say them whose later rows take the places of earlier ones: in, and out again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tokenring.engine import (
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    SchemaError,
    Stream,
    Token,
    UsageError,
)
from tokenring.operators.collections.arranged import Arranged
from tokenring.operators.collections.arranging import arranging, spread_by_key
from tokenring.operators.collections.joins import Columns, names_of
from tokenring.operators.collections.streams import schema_of_words, stamped
from tokenring.operators.collections.trace import Reader, Trace, batch_of
from tokenring.operators.collections.updates import (
    KEY,
    MADE,
    NO_ROW,
    Sealed,
    both,
    distinct_keys,
    elements_of,
    replace_rows,
    rows_after,
)
from tokenring.operators.collections.words import Entering, key_in_words
from tokenring.operators.expressions import col, lit
from tokenring.operators.rows import select

if TYPE_CHECKING:
    from tokenring.operators.collections.collection import Collection

GONE = "@gone"
"""Whether the key has no row from then on."""


def from_upserts(
    made: type[Collection], stream: Stream, key: Columns, time: str | None, deleted: str | None, name: str
) -> Arranged:
    """Rows of which each takes the place of the one before of its key, or, where `deleted` is true, says that there is
    none, by key. What is kept of a key is its row."""
    keys = names_of(key)
    values = [each for each in stream.schema.names if each not in (*keys, time, deleted)]
    for column in keys:
        if column not in stream.schema.positions or column in (time, deleted):
            raise SchemaError(f"operator {name!r}: {stream.schema.missing(column, 'to be the key')}")
    data = stream.schema.select((*keys, *values))
    is_gone = lit(False) if deleted is None else col(deleted).fill_null(False)
    wanted = {each: col(each) for each in stream.schema.names if each in data.positions or each == time}
    given = select(stream, **wanted, **{GONE: is_gone})
    arriving = Schema.of(data.spec() | {GONE: "bool"})
    numbered = stamped(given, arriving, time, None, f"{name}.times", is_numbered=True)
    trace = Trace(len(keys), len(data), 1)
    schema = schema_of_words(data, 1)
    builder = numbered.operator(name, Notify.IF_TOKEN)
    spread_by_key(builder, numbered, keys, numbered.schema)
    sealed = builder.output(schema)
    replaced = partial(_replaced, trace=trace, own=trace.read_all())
    builder.build(arranging(trace, Entering(name, numbered.schema), schema, replaced))
    return Arranged(sealed, data, keys, trace, made)


def _replaced(rows: np.ndarray, trace: Trace, own: Reader) -> np.ndarray:
    """How rows by key change with those that take their places: (key, values, whether it is gone, number, time, 1)."""
    keys, gone = trace.keys, trace.data
    in_turn = [*range(keys), gone + 2, gone + 1, gone, *range(keys, gone), gone + 3]
    changes, count = Sealed.of(np.ascontiguousarray(rows[in_turn]))
    before, bounds = _before(trace, changes, count, trace.spine.added)[1:]
    made = np.empty((trace.data + 2, 2 * count), np.int64)
    number = replace_rows(changes, count, keys, before, bounds, made)
    own.since = trace.upper
    return np.ascontiguousarray(made[:, :number])


def _before(trace: Trace, changes: np.ndarray, count: int, taken: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different keys of updates in order, and what the trace had of each in its first `taken` batches."""
    asked, starts = np.empty((trace.keys, count), np.int64), np.empty(count + 1, np.int64)
    number = int(distinct_keys(changes, count, trace.keys, asked, starts))
    asked = np.ascontiguousarray(asked[:, :number])
    return asked, *trace.spine.rows_of_keys(trace.keys, asked, taken)


def to_upserts(arranged: Arranged, time: str, deleted: str, name: str) -> Stream:
    """A row for each time at which a key's row changes: the new one; or, with `deleted`, the key and nulls."""
    data, keys, trace = arranged.schema, arranged.keys, arranged.trace
    for column in (time, deleted):
        if column in data.positions:
            raise SchemaError(f"operator {name!r}: there is a column {column!r} already; say time= or deleted= anew")
    kinds = {each: kind if each in keys else f"{kind.removesuffix('?')}?" for each, kind in data.spec().items()}
    schema = Schema.of(kinds | {time: "int64", deleted: "bool"})
    reader = trace.read()
    nulls = np.array([[kind.null] for kind in schema.kinds[len(keys) : len(data)]], np.int64)
    in_turn = [*range(len(keys)), len(data), len(data) + 1, *range(len(keys), len(data))]

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()

        def logic(sealed: InputPort, output: OutputPort) -> None:
            for reference, batch in reader.take(sealed):
                ones = np.ones((1, batch.shape[1]), np.int64)
                changes, count = Sealed.of(np.concatenate([batch[in_turn], ones]))
                asked, before, bounds = _before(trace, changes, count, reader.taken - 1)
                made, state = np.empty((len(schema), count), np.int64), np.zeros(2, np.int64)
                wrong = rows_after(changes, count, len(keys), before, bounds, made, state)
                if wrong != NO_ROW:
                    said = key_in_words(data.select(keys), asked[:, state[KEY]])
                    raise UsageError(
                        f"operator {name!r}: at {changes[len(keys), wrong]} {said} has not one row alone: an upsert "
                        f"stream has one a key at most; say a key that tells rows apart, or arrange(key).first(1)"
                    )
                made = np.ascontiguousarray(made[:, : state[MADE]])
                is_gone = made[-1] == 1
                made[len(keys) : len(data), is_gone] = nulls
                output.give(reference, batch_of(schema, made))
            reader.since = both(trace.upper, elements_of(sealed.frontier)) if trace.upper else []

        return logic

    return arranged.sealed.unary(name, schema, construct, notify=Notify.NEVER)
