"""A query's rows as all systems are asked for them: the whole of a small result, a fingerprint of any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from tokenring.nexmark.oracle.row_hash import row_hashes
from tokenring.nexmark.queries.query import Query

BATCH_ROWS = 1 << 16
"""How many rows a reference hands over at once."""


def fingerprint(query: Query, batches: Iterable[pa.RecordBatch]) -> list[int]:
    """The number of rows and the sums of their two hashes: equal for equal multisets of rows, whatever their order.
    batches: columns in any order, of any types that cast to the result's."""
    wanted = query.checked_as(query.result.to_arrow().empty_table()).schema
    rows, sums = 0, [0, 0]
    for batch in batches:
        table = pa.Table.from_batches([batch]).select(wanted.names).cast(wanted)
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
