"""What leads into collections: streams, and programs that insert and remove rows, or set and delete them by key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tokenring.engine import (
    MAX_TIME,
    Batch,
    GraphError,
    InputHandle,
    MultiplicityOverflowError,
    Schema,
    SchemaError,
    ScopeOf,
    Stream,
    TimeRegressionError,
    UsageError,
)
from tokenring.engine.columns import require_schema
from tokenring.engine.declare import require_streams
from tokenring.engine.times import coordinates, from_coordinates
from tokenring.operators.collections.collection import OWN_COLUMNS, Collection
from tokenring.operators.collections.joins import Columns, names_of
from tokenring.operators.collections.refused import no_method
from tokenring.operators.collections.saved import KeptRows, with_those_saved
from tokenring.operators.collections.streams import require_none_of, schema_of_updates, stamped
from tokenring.operators.collections.trace import batch_of
from tokenring.operators.collections.upserts import GONE, from_upserts, keys_of
from tokenring.operators.collections.words import TIMES
from tokenring.operators.expressions import col
from tokenring.operators.migrate import Table, saving_of
from tokenring.operators.rows import all_columns, computed
from tokenring.operators.state import require_newest, require_rows
from tokenring.operators.time import go_by_message_times, require_integer_times, require_scope, require_total_order

_OURS = {*OWN_COLUMNS, GONE}
_MOST = 2**63 - 1  # times that a row is there
Given = Batch | Mapping[str, Any]


def collection(
    stream: Stream, time: str | None = None, times: str | None = None, key: Columns | None = None,
    deleted: str | None = None, name: str = "updates",
) -> Collection:  # fmt: skip
    """A stream's rows as a collection: each is added once, at its message's time; or, with `time`, at what that column
    says, and with `times` as often as that one does, below 0 taken away. Those columns become the rows' times and are
    columns no more: copy one, by `with_columns`, that is wanted besides.

    With `key` there is one row a key: each row takes the place of the one before, by time and, of one time, in the
    order in which a worker has them; where the column `deleted` is true, there is none from then on. Its columns are
    the key's, then the others.

    A row's own time is its message's or later; TimeRegressionError (as OperatorError) for an earlier one. GraphError
    for a column of times in a loop, in any loop under recovery, and for updates, such as counts so far, by another key
    than `to_upserts` had.
    """
    if key is None:
        require_rows(name, stream)
    else:
        require_streams(f"operator {name!r}", stream)
        require_newest(name, stream, names_of(key, name), by_time=True)
    require_none_of([each for each in stream.schema.names if each not in (time, times, deleted)], _OURS, name)
    if time is None:
        go_by_message_times(name, stream, "say .collection(time=column), or ")
    if time is not None or key is not None:
        what = f"operator {name!r}: rows are there at times of their own"
        require_integer_times(stream.scope, what, "make the collection outside, and enter(loop)")
    if key is not None:
        if times is not None:
            raise SchemaError(f"operator {name!r}: a key's row is there once: say key=, or times=")
        return from_upserts(Collection, stream, key, time, deleted, name).collection()
    if deleted is not None:
        raise SchemaError(f"operator {name!r}: say whose row is gone: key=, beside deleted={deleted!r}")
    if time is not None and time == times:
        raise SchemaError(f"operator {name!r}: time= and times= are both {time!r}: each is a column of its own")
    hidden = {time, times} - {None}
    data = Schema.of({each: kind for each, kind in stream.schema.spec().items() if each not in hidden})
    return _entering(Collection(stamped(stream, data, time, times, name), data), name)


def _entering(rows: Collection, name: str) -> Collection:
    """Rows as they come into collections, of the two zeros always 0.0; under recovery they are kept, by whoever
    arranges them or beside that, and come again."""
    saving = saving_of(rows.stream.scope)
    if saving is None:
        return _with_one_zero(rows, name)
    if rows.depth > 1:
        raise GraphError(
            f"operator {name!r}: under recovery collections are made outside of loops: make it there, and enter(loop)"
        )
    name, schema = f"{name}.kept", rows.stream.schema
    saving.entries.add(rows.stream.source.operator)
    saved = saving.rows(name, [Table(schema, ())], rows.stream)
    saving.arrives(saved, rows.stream)
    if saved.is_resumed:
        rows = Collection(with_those_saved(rows.stream, saved), rows.schema)
    rows = _with_one_zero(rows, name)

    def keep() -> None:
        arranged = rows._first_arranged or rows._arranged(rows.schema.names, name)
        kept = KeptRows(arranged.sealed, arranged.trace, saved)
        in_turn = [*map(arranged.schema.position, rows.schema.names), -2, -1]
        saved.take_out = lambda: [batch_of(schema, np.concatenate([kept.finished(), kept.pending()], axis=1)[in_turn])]

    saving.at_end.append(keep)
    return rows


def _with_one_zero(rows: Collection, name: str) -> Collection:
    """Rows with 0.0 for -0.0, which is the same value: what is made of one before it is arranged is made of the other.
    """
    floats = [each for each, kind in zip(rows.schema.names, rows.schema.kinds, strict=True) if kind.is_float]
    if not floats:
        return rows
    rows.stream.rejects = None  # it fails at none: those behind it tell what they fail at as they have it
    columns = all_columns(rows.stream.schema) | {each: col(each) + 0.0 for each in floats}
    return Collection(computed(rows.stream, f"{name}.zeros", columns), rows.schema)


class _Input(InputHandle):
    """Feeds a collection. Rows are there from the current time on, or from a later one of their own."""

    __slots__ = ("data",)

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            others = [(CollectionInput, "new_collection(..., key=None)[0]")]
            others += [(UpsertInput, "new_collection(..., key=...)[0]")]
            raise no_method(type(self).__name__, name, type(self), others)

    def __init__(self, data: Schema, schema: Schema) -> None:
        super().__init__(schema)
        self.data = data
        """The schema of its rows."""

    def send(self, batch: Given, time: Any = None, block: bool = False) -> None:
        """Not here: raises UsageError."""
        raise UsageError(f"{self.describe()} feeds a collection: say insert, remove or update, or upsert and delete")

    def _rows(self, schema: Schema, rows: Given) -> Batch:
        try:
            return rows if isinstance(rows, Batch) and rows.schema == schema else Batch(schema, rows)
        except SchemaError as error:
            raise SchemaError(f"cannot send on {self.describe()}: {error}") from None

    def _give(self, rows: Batch, time: Any, last: np.ndarray) -> None:
        """Send rows with their times, and the last column."""
        now = coordinates(self.time)
        own = [np.full(rows.rows, at) for at in now] if time is None else self._own_times(time, now, rows.rows)
        heaps = (*rows.heaps, *[None] * (len(own) + 1)) if self.schema.has_text else ()
        super().send(Batch.wrap(self.schema, (*rows.columns, *own, last), rows.rows, heaps, of=rows))

    def _own_times(self, time: Any, now: tuple[int, ...], rows: int) -> list[np.ndarray]:
        """The times given, one for all rows or one a row: an int64 array for each coordinate of those it stands at."""
        given = [time] if len(now) == 1 else time
        if not isinstance(given, list | tuple) or len(given) != len(now):
            raise SchemaError(
                f"cannot send on {self.describe()}: a time there is a tuple of {len(now)}, each a whole number or an "
                f"array of one a row, not {time!r}"
            )
        own = [self._whole(each, rows, "times", 0, MAX_TIME) for each in given]
        beyond = np.logical_or.reduce([mine > MAX_TIME for mine in own])
        if beyond.any():
            first = from_coordinates(tuple([int(mine[beyond][0]) for mine in own]))
            raise TimeRegressionError(f"cannot send on {self.describe()} at {first}: the last time is {MAX_TIME}")
        early = np.logical_or.reduce([mine < at for mine, at in zip(own, now, strict=True)])
        if early.any():
            first = from_coordinates(tuple([int(mine[early][0]) for mine in own]))
            raise TimeRegressionError(
                f"{self.describe()}: rows at {first} came when it stands at {self.time}: no row is earlier than what "
                f"was promised; send it before the input advances"
            )
        return own

    def _whole(self, given: Any, rows: int, what: str, least: int, most: int) -> np.ndarray:
        """Whole numbers, one for all rows or one a row, as words of their own; SchemaError for what is none, and, with
        the bounds that they have, for those that are beyond 64 bits."""
        if given.__class__ is int and -_MOST <= given <= _MOST:  # as it is for single changes
            return np.full(rows, given)
        numbers = np.asarray(given)
        if numbers.dtype.kind == "M":
            numbers = numbers.astype("datetime64[ns]").view(np.int64)
        if _may_be_beyond(numbers) and (beyond := numbers[np.abs(numbers) > _MOST]).size:
            raise SchemaError(f"cannot send on {self.describe()}: {what} go from {least} to {most}, not to {beyond[0]}")
        if (numbers.dtype.kind not in "iu" and numbers.size) or numbers.shape not in ((), (rows,)):
            raise SchemaError(
                f"cannot send on {self.describe()}: {what} are whole numbers, one or {rows}, not {numbers.dtype} of "
                f"shape {numbers.shape}"
            )
        return np.array(np.broadcast_to(numbers, (rows,)), np.int64)


def _may_be_beyond(numbers: np.ndarray) -> bool:
    """Whether they are whole numbers of a kind that has some beyond 64 bits."""
    if numbers.dtype != object:
        return numbers.dtype == np.uint64
    return all([isinstance(each, int) for each in numbers.ravel().tolist()])


class CollectionInput(_Input):
    """Feeds a collection: `insert`, `remove` and `update` at the current time or later, `advance_to`, `close`."""

    __slots__ = ()

    def insert(self, rows: Given, time: Any = None) -> None:
        """Add rows: a batch, a table, or a mapping of column names to arrays; from now on, or from `time`, a later one,
        or an array of one a row (a tuple of such where times have several coordinates). Where much waits already, the
        worker steps until there is room."""
        self.update(rows, 1, time)

    def remove(self, rows: Given, time: Any = None) -> None:
        """Take rows away, each once."""
        self.update(rows, -1, time)

    def update(self, rows: Given, times: Any, time: Any = None) -> None:
        """Add rows as often as `times` says, a number or an array of one a row; below 0, take them away."""
        batch, what = self._rows(self.data, rows), "multiplicities"
        if times.__class__ is not int or abs(times) > _MOST:
            self._require_sayable(times, what)
        self._give(batch, time, self._whole(times, batch.rows, what, -_MOST, _MOST))

    def _require_sayable(self, given: Any, what: str) -> None:
        times = np.asarray(given)
        if times.dtype == np.float64:  # so are integers beyond 64 bits beside others
            times = np.asarray(given, object)
        is_whole = times.size and (times.dtype.kind in "iu" or _may_be_beyond(times))
        if is_whole and not -_MOST <= int(times.min()) <= int(times.max()) <= _MOST:
            raise MultiplicityOverflowError(
                f"cannot send on {self.describe()}: {what} are from -(2**63 - 1) to 2**63 - 1"
            )


class UpsertInput(_Input):
    """Feeds a collection of one row a key: `upsert` and `delete` at the current time or later, `advance_to`, `close`.
    Any worker may say what becomes of any key; of one key and time the last that was said holds, of several workers
    that of the highest number."""

    __slots__ = ("keys",)

    def __init__(self, data: Schema, keys: tuple[str, ...]) -> None:
        super().__init__(data, Schema.of(data.spec() | {TIMES[0]: "int64", GONE: "bool"}))
        self.keys = keys
        """The names of the key's columns."""

    def upsert(self, rows: Given, time: Any = None) -> None:
        """Let rows take the places of those with their keys, if there are any; from now on, or from `time`, a later
        one, or an array of one a row."""
        batch = self._rows(self.data, rows)
        self._give(batch, time, np.zeros(batch.rows, np.int64))

    def delete(self, keys: Given, time: Any = None) -> None:
        """Let there be no rows with these keys, of which only the key's columns are given."""
        given = self._rows(self.data.select(self.keys), keys)
        columns, heaps = [], []
        for name, kind in zip(self.data.names, self.data.kinds, strict=True):
            at = given.schema.positions.get(name)
            columns.append(np.repeat(kind.null_word(), given.rows) if at is None else given.columns[at])
            heap = given.heaps[at] if at is not None and given.heaps else None
            heaps.append(np.zeros(0, np.uint8) if heap is None and kind.is_text else heap)
        whole = Batch.wrap(self.data, tuple(columns), given.rows, tuple(heaps) if self.data.has_text else (), given)
        self._give(whole, time, np.ones(given.rows, np.int64))


@overload
def new_collection(
    scope: ScopeOf[Stream], schema: Schema, name: str = ..., key: None = None
) -> tuple[CollectionInput, Collection]: ...


@overload
def new_collection(
    scope: ScopeOf[Stream], schema: Schema, name: str = ..., *, key: Columns
) -> tuple[UpsertInput, Collection]: ...


def new_collection(
    scope: ScopeOf[Stream], schema: Schema, name: str = "input", key: Columns | None = None
) -> tuple[CollectionInput | UpsertInput, Collection]:
    """A collection that is fed from outside the dataflow, and the handle that feeds it: `insert`, `remove` and `update`
    rows; or, with `key`, of which there is one row each, `upsert` and `delete`. Each worker has its own handle, for
    rows of any key. SchemaError for a key that is not among the columns.
    """
    require_scope(scope, f"input {name!r}")
    require_schema(f"input {name!r}", schema)
    require_none_of(schema.names, _OURS, name)
    if key is None:
        handle: CollectionInput | UpsertInput = CollectionInput(schema, schema_of_updates(schema, scope.depth))
    else:
        require_total_order(name, scope)
        handle = UpsertInput(schema, keys_of(key, schema, name))
    _, stream = scope.new_input(handle.schema, name, handle)
    frame = sys._getframe(1)
    handle.declared = frame.f_code, frame.f_lineno
    if isinstance(handle, CollectionInput):
        return handle, _entering(Collection(stream, schema), name)
    rows = from_upserts(Collection, stream, handle.keys, TIMES[0], GONE, f"{name}.rows").collection()
    return handle, rows.select(*schema.names) if rows.schema != schema else rows
