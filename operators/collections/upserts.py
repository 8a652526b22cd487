"""Rows by key as streams say them whose later rows take the places of earlier ones: in, and out again."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tokenring.engine import (
    Batch,
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
from tokenring.operators.collections.arranging import send_sealed, spread_by_key
from tokenring.operators.collections.joins import Columns, names_of
from tokenring.operators.collections.refused import as_null, became_nullable
from tokenring.operators.collections.rights import Rights
from tokenring.operators.collections.saved import KeptRows, with_those_saved
from tokenring.operators.collections.streams import ORDER, numbered, schema_of_updates, schema_of_words, stamped
from tokenring.operators.collections.trace import Reader, Trace, batch_of
from tokenring.operators.collections.updates import (
    NO_ROW,
    Replaced,
    Sealed,
    as_table,
    both,
    distinct_keys,
    elements_of,
    least_times,
    replace_rows,
    rows_after,
    split,
)
from tokenring.operators.collections.words import Entering, key_in_words
from tokenring.operators.expressions import col, lit
from tokenring.operators.migrate import Table, made_again, saving_of
from tokenring.operators.rows import computed

if TYPE_CHECKING:
    from tokenring.operators.collections.collection import Collection
    from tokenring.operators.recovery import SavedRows

_WORKER_SHIFT = 48
_PENDING, _BASE = 1, 2  # the tables of what is not finished, and of the number at which numbers begin
_BEGIN = Schema("base")
GONE = "@gone"
"""Whether the key has no row from then on."""


def keys_of(key: Columns, schema: Schema, name: str, others: Container[str | None] = ()) -> tuple[str, ...]:
    """The columns that are the key. SchemaError if there are none, or if one is not there, or one of the others."""
    keys = names_of(key, name)
    if not keys:
        raise SchemaError(f"operator {name!r}: key= names no column; say key='city', or leave it out")
    for column in keys:
        if column not in schema.positions or column in others:
            raise SchemaError(f"operator {name!r}: {schema.missing(column, 'to be the key')}")
    return keys


def from_upserts(
    made: type[Collection], stream: Stream, key: Columns, time: str | None, deleted: str | None, name: str
) -> Arranged:
    """Rows of which each takes the place of the one before of its key, or, where `deleted` is true, says that there is
    none, by key. What is kept of a key is its row."""
    keys = keys_of(key, stream.schema, name, (time, deleted))
    values = [each for each in stream.schema.names if each not in (*keys, time, deleted)]
    data = stream.schema.select((*keys, *values))
    is_gone = lit(False) if deleted is None else col(deleted).fill_null(False)
    wanted = {each: col(each) for each in stream.schema.names if each in data.positions or each == time}
    given = computed(stream, "select", wanted | {GONE: is_gone})
    arriving = Schema.of(data.spec() | {GONE: "bool"})
    whole, saving = schema_of_updates(numbered(arriving), 1), saving_of(stream.scope)
    tables = [Table(schema, ()) for schema in (whole, whole, _BEGIN)]
    saved = None if saving is None else saving.rows(name, tables, given)
    numbers = _Numbers(saved)
    said = stamped(given, arriving, time, None, f"{name}.times", numbers.first)
    if saved is not None:
        saving.entries.add(said.source.operator)
        saving.arrives(saved, said)
        if saved.is_resumed:
            said = with_those_saved(said, saved, 2)
    trace = Trace(len(keys), len(data), 1)
    schema = schema_of_words(data, 1)
    builder = said.operator(name, Notify.IF_TOKEN)
    made_again(said.scope)
    spread_by_key(builder, said, keys, whole)
    sealed = builder.output(schema)
    replaced = partial(_replaced, trace=trace, own=trace.read_all())
    builder.build(_arranging(trace, Entering(name, whole), schema, replaced))
    if saved is not None:
        kept = KeptRows(sealed, trace, saved)
        saved.take_out = lambda: [
            batch_of(whole, _as_said(kept.finished())),
            batch_of(whole, kept.pending()),
            Batch(_BEGIN, {"base": [numbers.base]}),
        ]
    return Arranged(sealed, data, keys, trace, made)


def _arranging(
    trace: Trace, entering: Entering, schema: Schema, prepare: Callable[[np.ndarray], np.ndarray]
) -> Callable[[OperatorContext, Token], Callable[..., None]]:
    """The constructor of the operator that keeps rows. prepare: what makes of updates that come what `trace` keeps."""

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        rights = Rights()
        pending: list[np.ndarray] = []
        none = np.empty((len(entering.kinds), 0), np.int64)
        trace.pending = lambda: np.concatenate([none, *pending], axis=1)

        def seal_finished(rows: InputPort, output: OutputPort) -> None:
            nonlocal pending
            was_waiting = bool(pending)
            for reference, batch in rows:
                if batch.rows:
                    pending.append(entering.table_of(batch))
                    rights.keep(reference)
            if not was_waiting:
                return  # what has just come is not finished while it counts as under way: it is run again when it is
            upper = elements_of(rows.frontier)
            if upper == trace.upper:
                return
            frontier = as_table(upper, trace.depth)
            whole = pending[0] if len(pending) == 1 else np.concatenate(pending, axis=1)
            first = len(whole) - trace.depth - 1
            finished, left = split(whole, first, frontier)
            pending = [left] if left.shape[1] else []
            trace.upper = upper
            send_sealed(trace, schema, prepare(finished), rights, output)
            rights.keep_only([tuple(time) for time in least_times(left, first, trace.depth).tolist()])

        def logic(rows: InputPort, output: OutputPort) -> None:
            seal_finished(rows, output)
            trace.merge_on(context)

        return logic

    return construct


class _Numbers:
    """With which a worker numbers rows by key: of one key and time the last holds, of several workers that of the
    highest number. Where a run goes on with other workers, nobody's rows are whose they were: all new ones are later.
    """

    base = 0
    """Of worker 0."""

    def __init__(self, saved: SavedRows | None) -> None:
        self._saved = saved

    def first(self, context: OperatorContext) -> int:
        """The first number on a worker: behind those of rows that are not finished."""
        said = np.zeros(0, np.int64) if self._saved is None else self._saved.all(_PENDING)[ORDER]
        if self._saved is None or not len(said):
            return context.worker_index << _WORKER_SHIFT
        if self._saved.peers == context.peers:
            self.base, number = int(self._saved.all(_BASE)["base"][0]), int((said & (1 << _WORKER_SHIFT) - 1).max()) + 1
        else:
            self.base, number = (int(said.max()) >> _WORKER_SHIFT) + 1, 0
        return (self.base + context.worker_index << _WORKER_SHIFT) + number


def _as_said(changes: np.ndarray) -> np.ndarray:
    """Changes of rows by key, int64 (data, time, multiplicity; rows), as rows that take the places of others say them:
    whether each is gone, and a number, behind data."""
    is_gone = changes[-1] < 0
    return np.concatenate([changes[:-2], [is_gone, ~is_gone], changes[-2:-1], np.ones((1, len(is_gone)), np.int64)])


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
    if time == deleted:
        raise SchemaError(f"operator {name!r}: time= and deleted= are both {time!r}; call one otherwise")
    for column in (time, deleted):
        if column in data.positions:
            raise SchemaError(f"operator {name!r}: there is a column {column!r} already; say time= or deleted= anew")
    kinds = {each: kind if each in keys else f"{kind.removesuffix('?')}?" for each, kind in data.spec().items()}
    schema = Schema.of(kinds | {time: "int64", deleted: "bool"})
    reader = trace.read()
    nulls = np.array([kind.null for kind in schema.kinds[len(keys) : len(data)]], np.int64)[:, None]
    became = became_nullable(data, schema)
    in_turn = [*range(len(keys)), len(data), len(data) + 1, *range(len(keys), len(data))]

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()

        def logic(sealed: InputPort, output: OutputPort) -> None:
            for reference, batch in reader.take(sealed):
                ones = np.ones((1, batch.shape[1]), np.int64)
                changes, count = Sealed.of(np.concatenate([batch[in_turn], ones]))
                asked, before, bounds = _before(trace, changes, count, reader.taken - 1)
                made, replaced = np.empty((len(schema), count), np.int64), Replaced()
                wrong = rows_after(changes, count, len(keys), before, bounds, made, replaced.words)
                if wrong != NO_ROW:
                    said = key_in_words(data.select(keys), asked[:, replaced.key])
                    raise UsageError(
                        f"operator {name!r}: at {changes[len(keys), wrong]} {said} has not one row alone: an upsert "
                        f"stream has one a key at most; say a key that tells rows apart, or arrange(key).first(1)"
                    )
                made = np.ascontiguousarray(made[:, : replaced.made])
                is_gone = made[-1] == 1
                for column in became:
                    is_null = (made[data.position(column)] == schema.kind(column).null) & ~is_gone
                    if is_null.any():
                        row = is_null.argmax()
                        said = key_in_words(data.select(keys), made[: len(keys), row])
                        why = as_null(column, schema.kind(column))
                        raise SchemaError(f"operator {name!r}: at {made[len(data), row]} {said}: {why}")
                made[len(keys) : len(data), is_gone] = nulls
                output.give(reference, batch_of(schema, made))
            reader.since = both(trace.upper, elements_of(sealed.frontier)) if trace.upper else []

        return logic

    told = arranged.sealed.unary(f"{name}.rows", schema, construct, notify=Notify.NEVER)
    made_again(told.scope)
    return told
