"""Compares a result with the oracle's, exactly and as multisets of rows; says in words where they differ first.

Both are read batch by batch, twice at most: what is kept of each row is a hash. Rows of the two sides that differ go
unseen with a probability of 2^-64 for each, and the sums of a second hash then have to agree by chance as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenring.nexmark.oracle.row_hash import row_hashes

Batches = Callable[[], Iterator[pa.RecordBatch]]
Row = dict[str, Any]

_BATCH_ROWS = 1 << 16
_SHOWN = 5


def differences(result: pa.Table, expected: Path, key: Sequence[str] = ()) -> list[str]:
    """How `result` differs from the Parquet file, or folder of them, `expected`: a line each, none if they are equal.

    key: columns that name a row, for the words alone.
    """
    schema = pa.schema([(field.name, field.type) for field in result.schema])
    key = [name for name in key if name in schema.names]

    def got() -> Iterator[pa.RecordBatch]:
        yield from result.to_batches(_BATCH_ROWS)

    def wanted() -> Iterator[pa.RecordBatch]:
        for file in sorted(expected.glob("*.parquet")) if expected.is_dir() else [expected]:
            with pq.ParquetFile(file, memory_map=True) as parquet:
                for batch in parquet.iter_batches(_BATCH_ROWS, use_threads=False):
                    yield from pa.Table.from_batches([batch]).select(schema.names).cast(schema).to_batches()

    try:
        return _differences(got, wanted, key)
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        return [f"the columns are not comparable: {error}; the result has {', '.join(schema.names)}"]


def _differences(got: Batches, wanted: Batches, key: Sequence[str]) -> list[str]:
    ours, our_sum = _fingerprint(got)
    theirs, their_sum = _fingerprint(wanted)
    if np.array_equal(ours, theirs):
        return [] if our_sum == their_sum else ["rows differ, whose hashes are equal by chance"]
    told = [f"{len(ours):,} rows, expected {len(theirs):,}"] if len(ours) != len(theirs) else []
    surplus, missing = _more(ours, theirs), _more(theirs, ours)
    told += _in_words(_find(got, surplus), _find(wanted, missing), key)
    more = len(surplus) + len(missing) - 2 * _SHOWN
    return told + ([f"and about {more:,} more rows that are missing or were not expected"] if more > 0 else [])


def _fingerprint(batches: Batches) -> tuple[np.ndarray, int]:
    """All rows' hashes, sorted, and the sum of the second ones."""
    hashes, total = [np.empty(0, np.int64)], 0
    for batch in batches():
        first, second = row_hashes(batch)
        hashes.append(first)
        total = (total + int(second.sum())) % 2**64
    joined = np.concatenate(hashes)
    joined.sort()
    return joined, total


def _more(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """The distinct hashes that are more often in ours than in theirs."""
    values, counts = np.unique(ours, return_counts=True)
    found = np.searchsorted(theirs, values, "right") - np.searchsorted(theirs, values, "left")
    return values[counts > found]


def _find(batches: Batches, hashes: np.ndarray) -> list[Row]:
    """The first rows that have one of these hashes."""
    rows: list[Row] = []
    for batch in batches() if len(hashes) else ():
        chosen = np.flatnonzero(np.isin(row_hashes(batch)[0], hashes))[: _SHOWN - len(rows)]
        rows += batch.take(pa.array(chosen)).to_pylist()
        if len(rows) == _SHOWN:
            break
    return rows


def _in_words(surplus: list[Row], missing: list[Row], key: Sequence[str]) -> list[str]:
    """What is wrong with the rows that differ; those of one key belong together."""

    def named(row: Row) -> tuple[Any, ...]:
        return tuple([row[name] for name in key])

    def label(row: Row) -> str:
        return ", ".join([f"{name} {row[name]}" for name in key]) + (": " if key else "")

    got = {named(row): row for row in surplus} if key else {}
    told = []
    for row in missing:
        other = got.pop(named(row), None)
        if other is None or other == row:
            told.append(f"{label(row)}expected {row}, but it is missing")
        else:
            wrong = [name for name in row if other[name] != row[name]]
            told += [f"{label(row)}{name} is {other[name]}, expected {row[name]}" for name in wrong]
    left = got.values() if key else surplus
    return told + [f"{label(row)}{row} was not expected, or not so often" for row in left]
