"""DuckDB as a reference, in a process of its own: in-memory tables filled beforehand, only the query timed.

`python -m scripts.benchmarks.duckdb_reference FOLDER EVENTS` answers JSON lines:
{"query", "threads"} -> {"seconds", "result"}.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from nexmark.errors import CommandError, OptionError
from nexmark.staged import StagedEvents
from scripts.benchmarks.measure import ROOT

_TABLES = {"bid": "auction, price, date_time", "auction": "id, category, reserve, date_time, expires"}
_QUERIES = {
    "q4": """
        SELECT category, sum(price) AS total, count(*) AS auctions
        FROM (
            SELECT auction.id, auction.category, max(bid.price) AS price
            FROM auction JOIN bid ON bid.auction = auction.id
            WHERE bid.price >= auction.reserve
              AND bid.date_time >= auction.date_time AND bid.date_time < auction.expires
            GROUP BY auction.id, auction.category
        )
        GROUP BY category ORDER BY category
    """,
    "q7": """
        SELECT (date_time // 10000000000 + 1) * 10000000000 AS window_end, max(price) AS price
        FROM bid GROUP BY window_end ORDER BY window_end
    """,
}


class DuckDB:
    """A running reference; use it in a `with` block."""

    def __init__(self, folder: Path, events: int) -> None:
        if find_spec("duckdb") is None:
            raise OptionError("duckdb is not installed; pip install 'tokenring[bench]', or run ./scripts/benchmark")
        self._arguments = [
            sys.executable,
            "-m",
            "scripts.benchmarks.duckdb_reference",
            str(folder.resolve()),
            str(events),
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


def serve(folder: Path, events: int) -> None:
    """Fill the tables, then answer what is asked on standard input until it ends."""
    import duckdb

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too; whoever asks us ends us
    staged = StagedEvents.open(folder)
    with duckdb.connect(":memory:") as database:
        for name, columns in _TABLES.items():
            files = str(staged.stream(name).parquet / "*.parquet")
            database.execute(
                f"CREATE TABLE {name} AS SELECT {columns} FROM read_parquet(?) WHERE event < ?", [files, events]
            )
        _say({"ready": True})
        for line in sys.stdin.buffer:
            asked = orjson.loads(line)
            database.execute(f"SET threads = {int(asked['threads'])}")
            start_s = time.monotonic()
            rows = database.execute(_QUERIES[asked["query"]]).fetchall()
            seconds = time.monotonic() - start_s
            _say({"seconds": seconds, "result": _result(asked["query"], rows)})


def _result(query: str, rows: list[tuple[int, ...]]) -> list[dict[str, int]]:
    if query == "q7":
        return [{"window_end": end, "price": price} for end, price in rows]
    return [{"category": category, "average": total // count, "count": count} for category, total, count in rows]


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
