"""What a start loads, by the names of modules: what a program uses, and little of that in each worker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.house.strangers import README_FIRST
from tests.house.test_one_name import loaded_by
from tests.imports import PACKAGES, ROOT, read_tree

ROOMS = [name for name, module in read_tree(PACKAGES).items() if module.path.name == "__init__.py"]
OURS = 337
"""Modules of ours that README's first program loads in all, a third of them faces and kernels. When the faces were
imported whole, it was 536."""
IN_WORKERS = 20
"""Those of them that only the workers load, each by itself."""
NOT_NAMED = (
    *(f"tokenring.operators.{room}." for room in ("collections", "joins", "graphs", "paper", "capture", "flow")),
    *(f"tokenring.operators.{room}." for room in ("sessions", "running", "leaving")),
    "tokenring.nexmark",
    "tokenring.tools",
)
DEAR = {"logging", "inspect", "dis", "csv", "uuid", "pickle", "sysconfig", "multiprocessing", "unittest", "asyncio"}
DEAR |= {"pyarrow.parquet", "pyarrow.dataset", "pyarrow.csv", "pandas", "polars", "rich", "psutil"}
DEAR |= {"numba", "llvmlite"}

TELLING = """
import os, sys

import numpy, pyarrow

before = {*sys.modules}


def tell(path):
    with open(path, "w") as file:
        json.dump(sorted({*sys.modules} - before), file)


def end(status, ends=os._exit):
    tell(f"{folder}/worker")
    ends(status)


import json
folder = sys.argv[1]
os._exit = end
os.register_at_fork(before=lambda: tell(f"{folder}/launcher"))
"""


def loaded(folder: Path, program: str) -> tuple[set[str], set[str]]:
    """What a program has loaded beside numpy and pyarrow when its workers are forked, and what a worker at its end."""
    file = folder / "program.py"
    file.write_text(f"{TELLING}\n{program}")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", file, folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    launcher, worker = (json.loads((folder / name).read_text()) for name in ("launcher", "worker"))
    return set(launcher), set(worker)


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("tokenring")}


def test_a_program_loads_what_it_uses_and_most_of_it_before_the_fork(tmp_path: Path) -> None:
    launcher, worker = loaded(tmp_path, README_FIRST.text)
    assert not [name for name in worker if name.startswith(NOT_NAMED)]
    assert len(ours(worker)) < OURS
    assert len(ours(worker - launcher)) < IN_WORKERS


def test_what_it_imports_is_not_dear(tmp_path: Path) -> None:
    """As far as kernels are made ready; the table itself is left out, for which pyarrow imports pandas."""
    function = "def" + README_FIRST.text.partition("def")[2].partition("table = ")[0]
    program = f"import tokenring as tr\n{function}from tokenring.operators.fluent import named, run\n"
    launcher, _ = loaded(tmp_path, f"{program}named.import_named(busy_channels)\nif os.fork() == 0: os._exit(0)")
    assert "tokenring.operators.aggregates.aggregate" in launcher
    assert not launcher & DEAR


def test_columns_of_arrow_are_taken_without_pandas(tmp_path: Path) -> None:
    """Which pyarrow loads for its own conversions, where it is installed, in a third of a second: in each worker."""
    table = pa.table({"at": pa.array(range(9), pa.timestamp("us")), "key": ["a", "b", None] * 3, "value": [1.5] * 9})
    pq.write_table(table.append_column("known", pa.array([True, None, False] * 3)), tmp_path / "rows.parquet")
    program = f"""
import tokenring as tr

def totals(scope):
    rows = scope.read_parquet({str(tmp_path / "rows.parquet")!r}, time="at")
    rows = rows.filter(tr.col("value") > 1)
    return rows.aggregate("key", total=tr.Sum("value"), known=tr.Count(where="known")).collect()

assert tr.run(totals, workers=1).num_rows == 3
"""
    for modules in loaded(tmp_path, program):
        assert "pandas" not in modules


def test_expressions_of_text_and_time_load_no_pandas(tmp_path: Path) -> None:
    rows = pa.table({"text": ["a/b", "É", None], "at": pa.array([1, 2, 3], pa.timestamp("us"))})
    pq.write_table(rows, tmp_path / "r")
    program = f"""
import tokenring as tr

def told(scope):
    text, at = tr.col("text"), tr.col("at")
    rows = scope.read_parquet({str(tmp_path / "r")!r}).filter(at < "2026-01-01")
    cases = dict(upper=text.upper(), lower=text.lower(), first=text.split_part("/", 1), length=text.length())
    found = dict(found=text.extract("(.)/"), like=text.matches("a+"), beside=text + "z", known=text.is_in(["É"]))
    chosen = tr.when(text.contains("a")).then("x").otherwise(text)
    return rows.with_columns(**cases, **found, chosen=chosen, shown=at.cast("string")).collect()

def sent(worker):
    with worker.dataflow() as scope:
        handle, rows = scope.new_input(tr.Schema(text="string?", at="timestamp?", value="float64"))
        kept = rows.collect()
    handle.send(dict(text=["É", None], at=["2026-01-01T00:00:00Z", None], value=[1, 2.5]))
    handle.close()
    worker.run()
    return len(kept.batch())

assert tr.run(told, workers=1).num_rows == 3
assert tr.execute(sent, workers=1) == [2]
"""
    for modules in loaded(tmp_path, program):
        assert "pandas" not in modules


LINES = {
    "csv": 'n,x,t,s\n1,1.5,2026-01-01,\n2,,2026-01-02T03:00:00Z,"x"\n',
    "json_lines": '{"n":1,"x":1.5,"t":"2026-01-01","s":""}\n{"n":2,"t":"2026-01-02T03:00:00Z","s":"x"}\n',
}


def test_columns_of_numpy_are_taken_without_its_masked_arrays(tmp_path: Path) -> None:
    """Which take as long to load as all else at a worker's start."""
    program = """
import numpy as np
import tokenring as tr

def totals(scope):
    items = [{"k": np.arange(4) % 2, "v": np.ones(4)}]
    rows = scope.from_generator(tr.Schema(k="int64", v="float64"), lambda: items)
    return rows.filter_batches(lambda batch: batch["k"] >= 0).aggregate("k", total=tr.Sum("v")).collect()

def alone(worker):
    return np.arange(3)

assert tr.run(totals, workers=1).num_rows == 2
assert tr.execute(alone, workers=1)[0].sum() == 3
"""
    for modules in loaded(tmp_path, program):
        assert "numpy.ma" not in modules


@pytest.mark.parametrize("form", LINES)
def test_lines_are_read_without_pandas(tmp_path: Path, form: str) -> None:
    (tmp_path / "rows").write_text(LINES[form])
    program = f"""
import tokenring as tr

def rows(scope):
    schema = tr.Schema(n="int64", x="float64?", t="timestamp?", s="string")
    return scope.read_{form}({str(tmp_path / "rows")!r}, schema=schema).collect()

assert tr.run(rows, workers=1).num_rows == 2
"""
    for modules in loaded(tmp_path, program):
        assert "pandas" not in modules


def test_commands_load_what_they_do() -> None:
    told = loaded_by("from tokenring.nexmark.commands import main")
    assert not told & {"numpy", "pyarrow", "psutil", "rich", "tokenring.engine", "tokenring.nexmark.spark"}
    q7 = loaded_by("from tokenring.nexmark.run.runner import QUERIES; QUERIES['q7']")
    q7 -= loaded_by("import numpy, pyarrow")
    assert not q7 & {*DEAR, "pyspark", "matplotlib", "tokenring.nexmark.spark.process", "tokenring.nexmark.queries.q4"}


def test_each_name_of_each_face_is_where_its_import_says() -> None:
    """Else only who asks for the name would learn of it."""
    names = [f"import {room}\nfor name in getattr({room}, '__all__', ()): getattr({room}, name)" for room in ROOMS]
    assert "tokenring.operators.graphs.page_rank" in loaded_by("\n".join(names))
