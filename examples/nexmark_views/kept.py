"""A query kept up to date over staged events."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import tokenring as tr
from examples.nexmark_views.queries import QUERIES


def keep(folder: Path, name: str, workers: int, epoch_events: int) -> pa.Table:
    """The changes of the answer, each at an `epoch`, which so many events make, and so many `times`."""
    query = QUERIES[name]

    def program(worker: tr.Worker) -> tr.Collected:
        with worker.dataflow(name) as scope:
            rows = {}
            for stream, columns in query.columns.items():
                read = scope.read_parquet(f"{folder}/{stream}.parquet", columns=[*{*columns.split(), "event"}])
                dated = read.with_columns(epoch=tr.col("event") // epoch_events)
                rows[stream] = dated.select(*columns.split(), "epoch").collection(time="epoch")
            return query.build(**rows).changes(time="epoch").collect()

    return tr.gather(program, workers=workers)


def answer_at(changes: pa.Table, epoch: int) -> pa.Table:
    """The answer's rows at an epoch."""
    columns = [name for name in changes.column_names if name not in ("epoch", "times")]
    past = changes.filter(pc.less_equal(changes["epoch"], epoch))
    totals = past.group_by(columns, use_threads=False).aggregate([("times", "sum")])
    there = totals.take([at for at, n in enumerate(totals["times_sum"].to_pylist()) for _ in range(n)])
    return there.select(columns)
