"""Rows of an arrangement as of a time, as an Arrow table."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenring.engine import (
    Batch,
    Kind,
    MultiplicityOverflowError,
    NegativeMultiplicityError,
    Schema,
    SchemaError,
    UsageError,
)
from tokenring.engine.arguments import is_whole
from tokenring.operators.collections.updates import Sealed, Spine
from tokenring.operators.collections.words import Entering, heaps_of, rows_in_words

if TYPE_CHECKING:
    import pyarrow as pa

_FEW = 3  # rows that an error shows


class Answer(NamedTuple):
    """Rows as of a time, with how often each is there in the column `times`; or how they change at it, where that is
    how much more often each is there."""

    time: int
    rows: "pa.Table"


def rows_at(
    name: str, schema: Schema, keys: tuple[str, ...], spine: Spine, time: int, key: Any, times: str
) -> "pa.Table":
    """The rows of a spine of the root scope as of a time, each once, with how often it is there in the column `times`.
    key: `...` for all of them. NegativeMultiplicityError where that is below 0, MultiplicityOverflowError where it is
    beyond 2**63 - 1.
    """
    if times in schema.positions:
        raise SchemaError(f"there is a column {times!r}; say times= and another name for how often a row is there")
    if key is ...:
        parts = [np.empty((spine.columns, 0), np.int64), *[_until(time, batch.words) for batch in spine.batches()]]
        rows = np.concatenate(parts, axis=1)
    else:
        asked = words_of(schema, keys, key)
        values, _ = spine.rows_of_keys(len(keys), asked)
        rows = _until(time, np.concatenate([np.repeat(asked, values.shape[1], axis=1), values]))
    rows[-2] = time
    try:
        found = Sealed.of(rows).words
    except MultiplicityOverflowError as error:
        raise MultiplicityOverflowError(f"{name!r} {error}") from None
    found = found[[*range(len(schema)), -1]]
    if len(found[-1]) and found[-1].min() < 0:
        wrong = _batch_told(schema, found[:, np.flatnonzero(found[-1] < 0)[:_FEW]], times)
        raise NegativeMultiplicityError(
            f"{name!r} at {time} has rows that were removed more often than they were added: "
            f"{', '.join(rows_in_words(wrong))}; remove a row at the time at which it was added, or later, and with "
            f"the same values"
        )
    return told(schema, found, times)


def told(schema: Schema, words: np.ndarray, times: str) -> "pa.Table":
    """Rows as they are kept, int64 (columns, multiplicity; rows), and how often each is there in the column `times`."""
    import pyarrow as pa

    return pa.Table.from_batches([_batch_told(schema, words, times).to_arrow()])


def _batch_told(schema: Schema, words: np.ndarray, times: str) -> Batch:
    """The same as a batch."""
    whole = Schema.of(schema.spec() | {times: "int64"})
    columns: Any = [np.ascontiguousarray(each).view(dtype) for each, dtype in zip(words, whole.dtypes, strict=True)]
    return Batch.wrap(whole, tuple(columns), words.shape[1], heaps_of(whole))


def time_asked(view: str, time: int | None) -> int | None:
    """The time at which a view is to be read; None for the latest. UsageError for what is no time."""
    if time is not None and not (is_whole(time) and time >= 0):
        raise UsageError(f"{view!r} is read at a time, an integer, 0 or more, not {time!r}")
    return None if time is None else int(time)


def _until(time: int, rows: np.ndarray) -> np.ndarray:
    """The updates up to a time."""
    return np.ascontiguousarray(rows[:, rows[-2] <= time])


def words_of(schema: Schema, keys: tuple[str, ...], key: Any) -> np.ndarray:
    """A key as it is kept, int64 (columns of the key, 1); (columns of the key, 0) where nothing has its texts."""
    values = tuple(key) if isinstance(key, tuple | list) else (key,)
    if len(values) != len(keys):
        raise SchemaError(f"the key is ({', '.join(keys)}), so {key!r} is none: give a value for each, in a tuple")
    kinds = Schema.of({name: str(schema.kind(name)) for name in keys})
    for name, kind, value in zip(keys, kinds.kinds, values, strict=True):
        is_beyond = kind.null_is_a_number and is_whole(value) and not _fits(int(value), kind)
        if is_beyond or (isinstance(value, bool) and kind.family != "bool"):
            raise SchemaError(f"{key!r} is no key: column {name!r}: {value} is no {kind}; give a value of that kind")
    try:
        batch = Batch(kinds, {name: [value] for name, value in zip(keys, values, strict=True)})
    except SchemaError as error:
        raise SchemaError(f"{key!r} is no key: {error}") from None
    entering = Entering("read", kinds)
    return entering.table_of(batch) if entering.has_all(batch) else np.empty((len(keys), 0), np.int64)


def _fits(value: int, kind: Kind) -> bool:
    bounds = np.iinfo(kind.dtype)
    return bool(bounds.min <= value <= bounds.max)


def latest_of(spine: Spine) -> int:
    """The time of the last update; 0 if there is none."""
    return max([int(batch.words[-2].max()) for batch in spine.batches()], default=0)
