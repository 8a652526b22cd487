"""A query kept up to date by a group: all is loaded, then orders come and go, epoch by epoch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import tokenring as tr
from examples.tpch.queries import QUERIES
from examples.tpch.tables import changes, read, schema_of

_ROWS_AT_ONCE = 1 << 16


def keep(folder: Path, name: str, workers: int, epochs: int) -> tuple[list[pa.Table], list[float]]:
    """Each worker's changes of the answer, with `time` and `times`; and the seconds that each epoch took, from 0 on."""

    def program(worker: tr.Worker) -> tuple[pa.Table, list[float]]:
        query = QUERIES[name]
        tables = {
            table: read(folder, table, columns, worker.index, worker.peers) for table, columns in query.columns.items()
        }
        with worker.dataflow(name) as scope:
            inputs = {table: scope.new_collection(schema_of(rows), table) for table, rows in tables.items()}
            answer = query.build(**{table: rows for table, (_, rows) in inputs.items()}).changes()
            made, probe = answer.collect(), answer.probe()
        handles = {table: handle for table, (handle, _) in inputs.items()}
        taken = []
        for epoch in range(epochs + 1):
            due = [
                (handles[table], batch, times)
                for table, rows in tables.items()
                for moved, times in zip(changes(table, rows, epoch), (1, -1), strict=True)
                for batch in _batches(moved)
            ]
            worker.barrier()
            start_s = time.perf_counter()
            for handle, batch, times in due:
                handle.update(batch, times)
            for handle in handles.values():
                handle.advance_to(epoch + 1)
            worker.step_while(lambda epoch=epoch: probe.less_than(epoch + 1))
            taken.append(time.perf_counter() - start_s)
        worker.run()
        return made.to_arrow(), taken

    parts: Any = tr.execute(program, workers=workers)
    return [table for table, _ in parts], [max(both) for both in zip(*[taken for _, taken in parts], strict=True)]


def _batches(rows: pa.Table) -> list[tr.Batch]:
    schema = schema_of(rows)
    starts = range(0, rows.num_rows, _ROWS_AT_ONCE)
    return [tr.Batch.from_arrow(schema, rows.slice(first, _ROWS_AT_ONCE)) for first in starts]


def answer_at(parts: list[pa.Table], epoch: int) -> list[tuple[Any, ...]]:
    """The answer's rows at an epoch, each as often as it is there."""
    there: dict[tuple[Any, ...], int] = {}
    for part in parts:
        for *row, at, times in zip(*[column.to_pylist() for column in part.columns], strict=True):
            if at <= epoch:
                there[tuple(row)] = there.get(tuple(row), 0) + times
    assert min(there.values(), default=0) >= 0
    return [row for row, times in there.items() for _ in range(times)]
