"""Polars in forked workers: what it did before the fork, its threads do not follow; nothing hangs, nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.group import ROOT, WATCHDOG_S

pytest.importorskip("polars")

PROGRAM = """
import warnings
import polars as pl
from polars import collect_all, from_arrow
import tokenring as tr

warnings.simplefilter("error")
sold = pl.DataFrame({{"city": ["Oslo", "Rome", "Oslo"], "price": [1, 2, 3]}})
lazy = sold.lazy().group_by("city").agg(pl.col("price").sum())
if {used}:
    lazy.collect()
    pieces = pl.concat([sold, sold], rechunk=False)
    assert pieces.n_chunks() == 2

def own(batch):
    {own}
    return frame

def pipeline(scope):
    rows = scope.read_arrow(sold)
    return rows.map_batches(tr.Schema(city="string", price="int64"), own).collect()

if __name__ == "__main__":
    table = pl.DataFrame(tr.run(pipeline, workers=2, start="{start}"))
    print(sorted(table.group_by("city").agg(pl.col("price").sum()).rows()))
"""

SUMS = "frame = pl.from_arrow(batch.to_arrow()).lazy().group_by('city').agg(pl.col('price').sum()).collect()"
USES = {
    "a function": SUMS,
    "a function that is known by its own name": "frame = from_arrow(batch.to_arrow()).filter(pl.col('price') > 0)",
    "a frame": "frame = sold.filter(sold['price'] > 0)",
    "a lazy frame": "frame = lazy.collect()",
    "lazy frames": "frame, = collect_all([lazy])",
    "a new frame": "frame = pl.DataFrame({'city': ['Oslo'], 'price': [1]})",
}


def run(tmp_path: Path, start: str, own: str, used: bool) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(start=start, own=own, used=used))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=WATCHDOG_S, env=environment)


@pytest.mark.parametrize(("start", "use"), [*[("fork", use) for use in USES], ("forkserver", "a frame")])
def test_who_uses_it_in_a_worker_is_told_what_to_do(tmp_path: Path, start: str, use: str) -> None:
    done = run(tmp_path, start, USES[use], used=True)
    assert done.returncode == 1
    said = done.stderr
    assert "OperatorError: operator 'map_batches' on worker" in said
    assert "polars was used before this worker was forked, and would wait here for threads that only" in said
    assert "start='spawn'" in said


@pytest.mark.parametrize(
    ("start", "own", "used"),
    [
        ("fork", SUMS, False),
        ("fork", "frame = batch", True),
        ("spawn", SUMS, True),
        ("forkserver", SUMS, False),
        ("fork", "frame = batch if isinstance(batch, pl.DataFrame) or sold.height else None", True),
        ("fork", "import pyarrow as pa; frame = batch if pa.table(sold).num_rows == 3 else None", True),
        ("fork", "import pyarrow as pa; frame = batch if pa.table(pieces).num_rows == 6 else None", True),
    ],
)
def test_the_rest_goes_on(tmp_path: Path, start: str, own: str, used: bool) -> None:
    done = run(tmp_path, start, own, used)
    assert done.stderr == ""
    assert done.stdout == "[('Oslo', 4), ('Rome', 2)]\n"
