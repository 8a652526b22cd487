"""A query's rows as all systems are asked for them, and compared: the whole of a small result, a fingerprint of any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tokenring.nexmark.oracle.row_hash import row_hashes
from tokenring.nexmark.queries.query import Query
from tokenring.tools.errors import CommandError


@dataclass(frozen=True)
class Case:
    """One thing to measure. `query` is "floor" where only the planes run."""

    system: str
    query: str
    workers: int


def fingerprint(query: Query, batches: Iterable[pa.RecordBatch]) -> list[int]:
    """The number of rows and the sums of their two hashes: equal for equal multisets of rows, whatever their order.
    batches: columns in any order, of any types that cast to the result's."""
    wanted = query.checked_as(query.result.to_arrow().empty_table()).schema

    def as_wanted(batch: pa.RecordBatch) -> pa.Table:
        if {*batch.schema.names} != {*wanted.names}:
            names = [", ".join(sorted(schema.names)) for schema in (batch.schema, wanted)]
            raise CommandError(f"{query.name} is answered with columns {names[0]} for {names[1]}; nothing was written")
        return pa.Table.from_batches([batch]).select(wanted.names).cast(wanted)

    return hashed(map(as_wanted, batches))


def hashed(tables: Iterable[pa.Table]) -> list[int]:
    """The fingerprint of rows whose columns come in one order, of types that `row_hashes` takes."""
    rows, sums = 0, [0, 0]
    for table in tables:
        for part in table.to_batches():
            rows += part.num_rows
            for which, hashes in enumerate(row_hashes(part)):
                sums[which] = (sums[which] + int(hashes.sum(dtype=np.int64))) % 2**64
    return [rows, *sums]


def small_result(query: Query, batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    """The rows as a run's outcome has them."""
    schema = query.result.to_arrow()
    tables = [pa.Table.from_batches([batch]).select(query.result.names).cast(schema) for batch in batches]
    rows = pa.concat_tables([schema.empty_table(), *tables]).to_pylist()
    return sorted(rows, key=lambda row: [row[name] for name in query.sort_by])


def require_equal(answers: Iterable[tuple[Case, list[Any]]]) -> dict[str, int]:
    """All answers to a query are the same: a figure for a wrong answer is worth nothing. An answer begins with the
    number of its rows, as a fingerprint does; these are returned, by query."""
    first: dict[str, tuple[Case, list[Any]]] = {}
    for case, found in answers:
        other, wanted = first.setdefault(case.query, (case, found))
        if found != wanted:
            raise CommandError(
                f"{case.system} with {case.workers} worker(s) answers {case.query} with {found[0]:,} rows, "
                f"{other.system} with {wanted[0]:,} that differ; nothing was written"
            )
    return {query: rows for query, (_, (rows, *_)) in first.items()}


def require_equal_results(outcomes: dict[Case, list[dict[str, Any]]]) -> None:
    """The same of the small results of all rounds."""
    require_equal((case, [len(one["result"]), one["result"]]) for case, runs in outcomes.items() for one in runs)
