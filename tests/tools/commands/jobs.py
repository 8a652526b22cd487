"""A job that keeps snapshots, as `tokenring run --recovery` runs it: slow until it is let go, its results known."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.crash.run_process import Command
from tokenring.operators.recovery import JobFolder, Snapshot

WATCHDOG_S = 60
ROWS, KEYS, WINDOW = 12_000, 7, 50
_PROGRAM = f"""
import os
import time
import tokenring as tr

HERE = os.path.dirname(os.path.abspath(__file__))

def has(name):
    return os.path.exists(os.path.join(HERE, name))

def slowly(batch, at):
    if not has("fast"):
        time.sleep(0.02)

def rows_of(scope):
    rows = scope.read_parquet(HERE + "/rows", time="at", batch_rows=10).inspect(slowly)
    return rows.aggregate(by="key", window=tr.Tumbling("at", {WINDOW}), n=tr.Count(), total=tr.Sum("value"))

def flow(scope):
    return rows_of(scope).to_parquet(HERE + "/results")

def of_worker(worker):
    with worker.dataflow() as scope:
        flow(scope)
    while not worker.stopping and worker.step_or_park():
        pass

def late(worker):
    while not has("build"):
        worker.step_or_park(0.01)
    of_worker(worker)

def exporting(scope):
    flow(scope)
    rows = scope.read_parquet(HERE + "/rows", time="at", batch_rows=10, name="shared").inspect(slowly)
    rows.collection(time="at").aggregate("key", n=tr.Count()).arrange("key").export("counts")

def fed(scope):
    counts = scope.import_arrangement("counts").collection()
    counts.changes().to_parquet(HERE + "/told")
    return counts.aggregate("n", keys=tr.Count())

def apart(scope):
    rows_of(scope).to_parquet(HERE + "/apart")

def collecting(scope):
    return rows_of(scope).collect()

def streaming(scope):
    return rows_of(scope)
"""


class Job:
    """A job in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.program, self.kept = folder, folder / "app.py", folder / "job"
        self.program.write_text(_PROGRAM)
        (folder / "rows").mkdir()
        at = list(range(ROWS))
        rows = {"at": at, "key": [one * one % KEYS for one in at], "value": [one % 1000 for one in at]}
        pq.write_table(pa.table(rows), folder / "rows" / "all.parquet", row_group_size=1000)

    def start(self, *options: str, function: str = "flow", workers: int = 2, fresh: bool = False) -> Command:
        """Run it beside the test."""
        target = f"{self.program}:{function}"
        given = ("--workers", str(workers), "--recovery", self.kept, *options)
        return Command("run", target, *given, fresh=fresh)

    def let_go(self) -> None:
        """Its rows are slow no more."""
        (self.folder / "fast").touch()

    def wait_for(self, number: int) -> Snapshot:
        """The newest snapshot, once it is of that number, or a later one."""
        deadline = time.monotonic() + WATCHDOG_S
        while time.monotonic() < deadline:
            found = [snapshot for _, snapshot, _ in JobFolder(self.kept).all() if snapshot is not None]
            if found and found[0].number >= number:
                return found[0]
            time.sleep(0.02)
        raise AssertionError(f"no snapshot {number} within {WATCHDOG_S} s")

    def wait_for_results(self) -> None:
        """Until some have appeared."""
        deadline = time.monotonic() + WATCHDOG_S
        while not self.parts():
            assert time.monotonic() < deadline, f"no results within {WATCHDOG_S} s"
            time.sleep(0.02)

    def parts(self) -> set[str]:
        """The names of its results."""
        return {path.name for path in (self.folder / "results").glob("*")}

    def results(self, folder: str = "results") -> Counter[tuple[int, ...]]:
        """What is there of them."""
        rows = pq.read_table(self.folder / folder).to_pylist()
        return Counter((row["window_start"], row["key"], row["n"], row["total"]) for row in rows)


def expected() -> Counter[tuple[int, ...]]:
    """All results, by plain Python."""
    found: dict[tuple[int, int], list[int]] = {}
    for at in range(ROWS):
        group = found.setdefault((at // WINDOW * WINDOW, at * at % KEYS), [0, 0])
        group[0] += 1
        group[1] += at % 1000
    return Counter((*where, *group) for where, group in found.items())
