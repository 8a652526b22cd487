"""A small job under recovery, with a sink of a kind, and what is to be there when it has ended.

`python -m scripts.storms.small_job SINK BASE WORKERS` runs it, in the folders `job` and `out` of BASE.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from scripts.storms.setting import WATCHDOG_S
from tests.crash.group import ROOT
from tokenring import Count, Recovery, Schema, Scope, Stream, Sum, Tumbling, run
from tokenring.engine.whole_files import sync
from tokenring.operators.recovery import tables

_EVERY = "60ms"
_ITEMS, _ITEM_S = 160, 0.005  # which the source yields, and the time that each takes

Rows = Counter[tuple[Any, ...]]


def _parquet(out: Path) -> list[dict[str, Any]]:
    return [row for part in out.glob("*") for row in pq.read_table(part).to_pylist()]


def _arrow(out: Path) -> list[dict[str, Any]]:
    return [row for part in out.glob("*") for row in pa.ipc.open_file(part).read_all().to_pylist()]


def _json(out: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for part in out.glob("*") for line in part.read_bytes().splitlines()]


def _database(out: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(out / "results.db") as connection:
        found = connection.execute("SELECT window_end, k, n, total FROM windows")
        return [dict(zip(("window_end", "k", "n", "total"), row, strict=True)) for row in found]


SINKS: dict[str, tuple[Callable[[Stream, Path], Any], Callable[[Path], list[dict[str, Any]]]]] = {
    "to_parquet": (lambda rows, out: rows.to_parquet(out), _parquet),
    "to_arrow_files": (lambda rows, out: rows.to_arrow_files(out), _arrow),
    "to_json_lines": (lambda rows, out: rows.to_json_lines(out), _json),
    "to_database": (lambda rows, out: rows.to_database(out / "results.db", "windows"), _database),
}
"""How windows are written, and read."""


class Outcome:
    """How a run of the job ended: its status, None if it did not, and what it said."""

    def __init__(self, command: list[str]) -> None:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.status: int | None = None
        self.said = ""
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=WATCHDOG_S)
        except subprocess.TimeoutExpired:
            return
        self.status, self.said = done.returncode, done.stderr.decode(errors="replace")

    def complaint(self, sink: str, base: Path) -> str:
        """What is wrong, of a job that is to have come to its end; "" if nothing is."""
        if self.status is None:
            return "it hangs"
        return f"status {self.status}: {self.said[-400:]!r}" if self.status else _difference(sink, base)


def command_of(sink: str, base: Path, workers: str) -> list[str]:
    """What runs the job."""
    return [sys.executable, "-m", "scripts.storms.small_job", sink, str(base), workers]


def _difference(sink: str, base: Path) -> str:
    """What was written beside what was to be."""
    _, read = SINKS[sink]
    try:
        found = Counter([tuple(row.values()) for row in read(base / "out")])
    except (OSError, ValueError, sqlite3.Error) as error:
        return f"{error}, of {[(part.name, part.stat().st_size) for part in (base / 'out').iterdir()]}"
    expected = _expected()
    if found == expected:
        return ""
    return f"{(expected - found).total()} rows are missing, {(found - expected).total()} are too many"


def _items() -> list[dict[str, list[int]]]:
    return [{"at": [*range(10 * item, 10 * item + 10)], "k": [*range(10)]} for item in range(_ITEMS)]


def _expected() -> Rows:
    """By plain Python: of each window and key its rows, how many and their sum."""
    found: dict[tuple[int, int], list[int]] = {}
    for item in _items():
        for at, k in zip(item["at"], item["k"], strict=True):
            found.setdefault((at // 40 * 40 + 40, k % 3), []).append(k)
    return Counter([(*key, len(values), sum(values)) for key, values in found.items()])


def _job(sink: str, base: str, workers: str) -> None:
    write, _ = SINKS[sink]
    job, out = Path(base) / "job", Path(base) / "out"

    def read(position: int | None) -> Iterator[Any]:
        for number, item in [*enumerate(_items())][position or 0 :]:
            time.sleep(_ITEM_S)
            yield item | {"k": [k % 3 for k in item["k"]], "v": item["k"]}, number + 1

    def flow(scope: Scope) -> Any:
        rows = scope.from_generator(Schema("at k v"), read, time="at", positions=True)
        found = rows.aggregate("k", window=Tumbling("at", 40), n=Count(), total=Sum("v"))
        return write(found.select("window_end", "k", "n", "total"), out)

    if sink == "to_database":
        out.mkdir(exist_ok=True)
        sync(out.parent)
    run(flow, workers=int(workers), recovery=Recovery(job, every=_EVERY))


if __name__ == "__main__":
    tables._LEAST_BYTES = 0  # snapshots hold what has changed, however little that is
    _job(*sys.argv[1:])
