"""Power failures: a job under recovery runs while all that its processes do to files is noted. Its folders are then
made what a disk may have at some instant of that, and the same command is to come to the same results.

`python -m scripts.storms.power SINK JOB OUT WORKERS` is the job. Delta tables are left out: `deltalake` does not wait
for the disk (docs/recovery.md).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from scripts.storms.disk import MANNERS, Call, Disk, calls, paths_of, traced, why_untraced
from scripts.storms.setting import WATCHDOG_S, Setting
from tests.crash.group import ROOT
from tokenring import Count, Recovery, Schema, Scope, Stream, Sum, Tumbling, run
from tokenring.engine.whole_files import sync
from tokenring.operators.recovery import tables

_EVERY = "60ms"
_ITEMS, _ITEM_S = 160, 0.005  # which the source yields, and the time that each takes
_FAILURES = 5  # of the power, in a run

_NAMING = ("link", "rename", "unlink")  # behind which the power fails more often

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


def case(setting: Setting, random: Random) -> tuple[str, str]:
    """A run, and power failures at instants of it: in words, and what was wrong."""
    if why := why_untraced():
        sys.exit(f"power: {why}")
    base, notes = setting.new("power"), setting.new("notes")
    base.mkdir()
    notes.mkdir()
    sink, workers = random.choice([*SINKS]), random.choice("12")
    command = [sys.executable, "-m", "scripts.storms.power", sink, str(base / "job"), str(base / "out"), workers]
    told = f"{sink}, {workers} workers"
    if wrong := _run(traced(command, notes), sink, base):
        return told, wrong
    done = calls(notes)
    shutil.rmtree(notes)
    named = [at for at, call in enumerate(done) if call.name in _NAMING and str(base) in _told(call)]
    for _ in range(_FAILURES):
        at = random.choice([random.randrange(len(done)), random.choice(named) + random.randint(0, 3), len(done)])
        manner = random.choice(MANNERS)
        shutil.rmtree(base)
        base.mkdir()
        disk = Disk(base)
        last = [call for call in done[:at] if disk.do(call)][-1:]
        disk.fail(manner, random)
        behind = f"behind {_told(last[0])}" if last else "at the beginning"
        if wrong := _run(command, sink, base):
            return f"{told}; {manner} of what was not synced, {behind}, call {at} of {len(done)}", wrong
    return told, ""


def _told(call: Call) -> str:
    """A call with its paths."""
    return f"{call.name}({', '.join(paths_of(call))})"


def _run(command: list[str], sink: str, base: Path) -> str:
    """Run the job to its end: what is wrong about its results."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, timeout=WATCHDOG_S
        )
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode:
        return f"status {done.returncode}: {done.stderr.decode(errors='replace')[-400:]!r}"
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


def _job(sink: str, job: str, out: str, workers: str) -> None:
    write, _ = SINKS[sink]

    def read(position: int | None) -> Iterator[Any]:
        for number, item in [*enumerate(_items())][position or 0 :]:
            time.sleep(_ITEM_S)
            yield item | {"k": [k % 3 for k in item["k"]], "v": item["k"]}, number + 1

    def flow(scope: Scope) -> Any:
        rows = scope.from_generator(Schema("at k v"), read, time="at", positions=True)
        found = rows.aggregate("k", window=Tumbling("at", 40), n=Count(), total=Sum("v"))
        return write(found.select("window_end", "k", "n", "total"), Path(out))

    if sink == "to_database":
        Path(out).mkdir(exist_ok=True)
        sync(Path(out).parent)
    run(flow, workers=int(workers), recovery=Recovery(job, every=_EVERY))


if __name__ == "__main__":
    tables._LEAST_BYTES = 0  # snapshots hold what has changed, however little that is
    _job(*sys.argv[1:])
