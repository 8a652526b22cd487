"""Results too large to gather: rows are counted where they arrive, or kept as an Arrow file a worker for who asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import InputPort, Notify, OperatorContext, Probe, Stream
from tokenring.engine.compiled import DONE, Compiled, entry, peek, rows_of, state_of, take
from tokenring.nexmark.queries import SENT_AT, Query

if TYPE_CHECKING:
    import pyarrow as pa  # imported when it is needed: most runs count


@entry
def count_rows(world: int, me: int) -> int:
    """Count the rows that came."""
    own = state_of(world, me, 1)
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        own[0] += rows_of(message)
        take(world, me, 0)


class Rows:
    """The rows that reached one worker's end of a query: counted, and kept in `file` if there is one."""

    def __init__(self, query: Query, file: Path | None) -> None:
        self._query = query
        self._file = file
        self._count = np.zeros(1, np.int64)
        self._writer: Any = None

    def sink(self, stream: Stream) -> Probe:
        """Take a stream's rows; the probe tells which have been taken on all workers."""
        if self._file is not None:
            self._writer = _writer(self._file, stream.schema.to_arrow())
        writer = self._writer
        builder = stream.operator("result", Notify.NEVER)
        port = builder.input(stream)

        def construct(context: OperatorContext) -> Callable[[InputPort], None]:
            def logic(rows: InputPort) -> None:
                for _, batch in rows:
                    self._count[0] += batch.rows
                    if writer is not None:
                        writer.write_batch(batch.to_arrow())

            return logic

        if writer is None and builder.can_be_compiled_with_texts:
            builder.build_compiled(lambda context: Compiled(count_rows, self._count), texts=True, reads_texts=False)
        else:
            builder.build(construct)
        return builder.probe(port)

    def close(self) -> int:
        """Finish the file, with the last row of each key where a result changes; returns the number of rows."""
        if self._file is not None:
            self._writer.close()
            if self._query.key:
                self._keep(last_rows(_mapped(self._file), self._query.key))
        return int(self._count[0])

    def _keep(self, table: pa.Table) -> None:
        """Put other rows in the file's place."""
        assert self._file is not None
        another = self._file.with_suffix(".last")
        with _writer(another, table.schema) as writer:
            writer.write_table(table)
        os.replace(another, self._file)
        self._count[0] = table.num_rows


def file_of(folder: Path, worker: int) -> Path:
    """The file of one worker's rows."""
    return folder / f"{worker:05d}.arrow"


def kept_rows(folder: Path, key: Iterable[str]) -> pa.Table:
    """The rows that workers left in a folder, mapped into memory; of a key's rows with SENT_AT that of the greatest
    time, without it. key: the query's."""
    import pyarrow as pa

    table = pa.concat_tables([_mapped(file) for file in sorted(folder.glob("*.arrow"))])
    if SENT_AT not in table.column_names:
        return table
    order = np.argsort(table.column(SENT_AT).to_numpy(), kind="stable")
    return last_rows(table.take(pa.array(order)), key).drop_columns([SENT_AT])


def last_rows(table: pa.Table, key: Iterable[str]) -> pa.Table:
    """The last row of each key, in the order of the rows."""
    import pyarrow as pa

    keys = list(key)
    numbered = table.select(keys).append_column("", pa.array(np.arange(table.num_rows)))
    last = numbered.group_by(keys, use_threads=False).aggregate([("", "max")]).column("_max")
    return table.take(pa.array(np.sort(last.to_numpy())))


def _mapped(file: Path) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(file))).read_all()


def _writer(file: Path, schema: pa.Schema) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(file, schema)
