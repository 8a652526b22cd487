"""Polars in forked workers: what it did before the fork, its threads do not follow; nothing hangs, nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.group import ROOT, WATCHDOG_S

pytest.importorskip("polars")

PROGRAM = """
import json
import warnings
import polars as pl
import pyarrow as pa
from polars import collect_all, from_arrow
import tokenring as tr

warnings.simplefilter("error")
sold = pl.DataFrame({{"city": ["Oslo", "Rome", "Oslo"], "price": [1, 2, 3]}})
lazy = sold.lazy().group_by("city").agg(pl.col("price").sum())
if {used}:
    lazy.collect()
    pieces = pl.concat([sold, sold], rechunk=False)
    assert pieces.n_chunks() == 2

{functions}

def passed_on(own):
    table = pl.DataFrame(tr.run(lambda scope: staged(scope, own), workers=2))
    return sorted(table.group_by("city").agg(pl.col("price").sum()).rows())

def staged(scope, own):
    return scope.read_arrow(sold).map_batches(tr.Schema(city="string", price="int64"), own).collect()

def pipeline(scope):
    return staged(scope, own_0)

if __name__ == "__main__":
    {main}
"""
ONCE = """table = pl.DataFrame(tr.run(pipeline, workers=2, start="{start}"))
    print(sorted(table.group_by("city").agg(pl.col("price").sum()).rows()))
"""
ALL = """pa.table(sold)  # loads pandas, which each worker would
    for own in ({names}):
        try:
            print(passed_on(own), flush=True)
        except tr.OperatorError as error:
            print(json.dumps(f"OperatorError: {error}"), flush=True)
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
NO_USES = {
    "nothing": "frame = batch",
    "a type and a height": "frame = batch if isinstance(batch, pl.DataFrame) or sold.height else None",
    "a frame's rows": "frame = batch if pa.table(sold).num_rows == 3 else None",
    "a frame's pieces": "frame = batch if pa.table(pieces).num_rows == 6 else None",
}
WHOLE = "[('Oslo', 4), ('Rome', 2)]"


def run(folder: Path, main: str, uses: Sequence[str], used: bool) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    functions = [f"def own_{number}(batch):\n    {use}\n    return frame\n" for number, use in enumerate(uses)]
    file.write_text(PROGRAM.format(functions="\n".join(functions), main=main, used=used))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=WATCHDOG_S, env=environment)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What came of each use in forked workers of one program that had used it: rows, or an error."""
    uses = USES | NO_USES
    names = "".join([f"own_{number}, " for number in range(len(uses))])
    try:
        done = run(tmp_path_factory.mktemp("forked"), ALL.replace("{names}", names), [*uses.values()], used=True)
    except subprocess.TimeoutExpired as hanging:
        pytest.fail(f"a worker waits for ever with {[*uses][(hanging.stdout or b'').count(10)]}")
    assert (done.returncode, done.stderr) == (0, "")
    return dict(zip(uses, done.stdout.splitlines(), strict=True))


def assert_told(said: str) -> None:
    assert "OperatorError: operator 'map_batches' on worker" in said
    assert "polars was used before this worker was forked, and would wait here for threads that only" in said
    assert "start='spawn'" in said


@pytest.mark.parametrize("use", USES)
def test_who_uses_it_in_a_worker_is_told_what_to_do(printed: dict[str, str], use: str) -> None:
    assert_told(json.loads(printed[use]))


def test_so_is_who_uses_it_in_a_worker_of_a_server(tmp_path: Path) -> None:
    done = run(tmp_path, ONCE.format(start="forkserver"), [USES["a frame"]], used=True)
    assert done.returncode == 1
    assert_told(done.stderr)


@pytest.mark.parametrize("use", NO_USES)
def test_the_rest_goes_on(printed: dict[str, str], use: str) -> None:
    assert printed[use] == WHOLE


@pytest.mark.parametrize(("start", "used"), [("fork", False), ("spawn", True), ("forkserver", False)])
def test_it_works_where_its_threads_are(tmp_path: Path, start: str, used: bool) -> None:
    done = run(tmp_path, ONCE.format(start=start), [SUMS], used)
    assert done.stderr == ""
    assert done.stdout == f"{WHOLE}\n"
