"""DuckDB as a reference, in a process of its own: in-memory tables filled beforehand, only the query timed.

`python -m scripts.benchmarks.duckdb_reference FOLDER EVENTS QUERY...` answers JSON lines:
{"query", "threads"} -> {"seconds", "rows", "result"}, the result only of small ones. It is asked what the tests ask it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson
import pyarrow as pa

from scripts.benchmarks.measure import ROOT
from tokenring.nexmark.events.schema import EVENT, STREAMS
from tokenring.nexmark.queries.query import Query
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError, OptionError

_BATCH_ROWS = 1 << 16

class DuckDB:
    """A running reference; use it in a `with` block."""

    def __init__(self, folder: Path, events: int, queries: Sequence[str]) -> None:
        if find_spec("duckdb") is None:
            raise OptionError("duckdb is not installed; pip install 'tokenring[bench]', or run ./scripts/benchmark")
        self._arguments = [
            sys.executable,
            "-m",
            "scripts.benchmarks.duckdb_reference",
            str(folder.resolve()),
            str(events),
            *queries,
        ]

    def __enter__(self) -> DuckDB:
        self._process = subprocess.Popen(self._arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        self._process.communicate()

    def answer(self, query: str, threads: int) -> dict[str, Any]:
        """Run a query; its seconds and its result, shaped as a run's."""
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps({"query": query, "threads": threads}) + b"\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CommandError(f"DuckDB's process ended with status {self._process.wait()}; what it said is above")
        answer: dict[str, Any] = orjson.loads(line)
        return answer


def serve(folder: Path, events: int, queries: Sequence[str]) -> None:
    """Fill the tables with what the queries read, then answer what is asked on standard input until it ends."""
    import duckdb

    from tests.nexmark.answers import ANSWERS, DIVIDED
    from tokenring.nexmark.queries import QUERIES

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too; whoever asks us ends us
    staged = StagedEvents.open(folder)
    with duckdb.connect(":memory:") as database:
        database.execute(DIVIDED)
        for name in staged.streams:
            read = [column for query in queries for column in QUERIES[query].reads.get(name, ())]
            columns = ", ".join(dict.fromkeys((*STREAMS[name].integer_columns, EVENT, *read)))
            files = str(staged.stream(name).parquet / "*.parquet")
            database.execute(
                f"CREATE TABLE {name} AS SELECT {columns} FROM read_parquet(?) WHERE event < ?", [files, events]
            )
        _say({"ready": True})
        for line in sys.stdin.buffer:
            asked = orjson.loads(line)
            query = QUERIES[asked["query"]]
            database.execute(f"SET threads = {int(asked['threads'])}")
            start_s = time.monotonic()
            reader = database.sql(ANSWERS[query.name]).to_arrow_reader(_BATCH_ROWS)
            rows, kept = 0, []
            for batch in reader:
                rows += batch.num_rows
                kept += [batch] if query.is_small else []
            seconds = time.monotonic() - start_s
            _say({"seconds": seconds, "rows": rows, "result": _result(query, kept)})


def _result(query: Query, batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    """The rows as a run's outcome has them."""
    schema = query.result.to_arrow()
    tables = [pa.Table.from_batches([batch]).select(query.result.names).cast(schema) for batch in batches]
    rows = pa.concat_tables([schema.empty_table(), *tables]).to_pylist()
    return sorted(rows, key=lambda row: [row[name] for name in query.sort_by])


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
