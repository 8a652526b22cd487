"""`tokenring run my.py:program`: real files in a folder of their own, what they return, and every wrong name."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pyarrow as pa
import pytest

from tests.copies import in_a_copy
from tests.crash.group import ROOT, WATCHDOG_S
from tests.crash.run_process import Command
from tokenring.engine.worker import usable_cores
from tokenring.nexmark.commands import main

PROGRAM = """
import sys
from decimal import Decimal
import numpy as np
import pyarrow as pa
import tokenring as tr
from beside import LEAST

def rows(worker):
    with worker.dataflow("rows") as scope:
        numbers, stream = scope.new_input(tr.Schema("n", name="string?", at="timestamp"))
        collected = tr.collect(tr.filter(stream, tr.col("n") >= LEAST))
    n = [worker.index, 10 + worker.index]
    at = np.array(["2024-01-01T00:00:00.000000001"] * 2, "datetime64[ns]")
    numbers.send({"n": n, "name": ["no", None], "at": at})
    return collected

def scoped(scope: "tr.Scope"):
    return tr.read_arrow(scope, pa.table({"n": [4, 5]}))

def named(scope):
    return scoped(scope).schema.names

def small(scope):
    return scoped(scope).select(fee=tr.lit(Decimal("0E-7")))

def told(worker):
    return worker.index, worker.peers, sys.argv

def nothing(worker): ...
def two(worker, other): ...
def zero(): ...
def wrong(worker): return 1 // worker.index
def endless(worker):
    while True:
        worker.step_or_park()

number = 3
"""

METHODS = """
import tokenring as tr

SOLD = tr.Schema("shop", price="int64")

def kept(scope):
    return scope.read_csv("sold.csv", SOLD).filter(tr.col("price") >= 2).latest("shop")

def streamed(scope):
    return scope.read_csv("sold.csv", SOLD).select("price").filter(tr.col("price") == 3)

def written(scope):
    return scope.read_csv("sold.csv", SOLD).to_parquet("sold")

def viewed(scope):
    return scope.read_csv("sold.csv", SOLD).collection().arrange("shop").export("sold")

def unnamed(s):
    return written(s)

def unread(scope):
    return scope.read_csv("sold.csv", SOLD).collection()

def counted(worker):
    with worker.dataflow() as scope:
        return scope.read_csv("sold.csv", SOLD).aggregate(n=tr.Count(), emit="final").collect()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "my.py": PROGRAM,
        "methods.py": METHODS,
        "beside.py": "LEAST = 10",
        "sold.csv": "shop,price\n1,1\n1,2\n2,3\n",
        "engine.py": "raise AssertionError('somebody else\\'s')",
        "raising.py": "import json\njson.loads('{')",
        "broken.py": "def (",
        "leaving.py": "raise SystemExit(5)",
        "needing.py": "import not_there",
        "package/__init__.py": "",
        "package/near.py": "VALUE = 7",
        "package/module.py": "from .near import VALUE\ndef program(worker): return VALUE + worker.index",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *arguments: str, command: str = "run") -> subprocess.CompletedProcess[str]:
    """Run the command there, as if it were installed."""
    line = [sys.executable, "-m", "tokenring", command, *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
    )


def run_here(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command there, without another start of Python."""
    pa.array([0])  # has it import pandas: once, and not in each copy
    return in_a_copy(lambda: main(["run", *arguments]), ("tokenring",), folder, folder)


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_rows_into_a_pipe(folder: Path, start: str) -> None:
    done = run(folder, "--start", start, "--workers", "2", "my.py:rows")
    assert (done.returncode, done.stderr) == (0, "")
    at = "2024-01-01 00:00:00.000000001Z"
    assert [orjson.loads(line) for line in done.stdout.splitlines()] == [
        {"n": n, "name": None, "at": at} for n in (10, 11)
    ]


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["my:told", "--workers", "1", "--", "a", "--b"], "(0, 1, ['my', 'a', '--b'])\n"),
        (["my.py:scoped", "--workers", "1"], '{"n":4}\n{"n":5}\n'),
        (["my.py:small", "--workers", "1"], '{"fee":"0.0000000"}\n' * 2),
        (["methods.py:kept", "--workers", "1"], '{"shop":1,"price":2}\n{"shop":2,"price":3}\n'),
        (["methods.py:streamed", "--workers", "1", "--start", "spawn"], '{"price":3}\n'),
        (["methods.py:written", "--workers", "1"], ""),
        (["methods.py:viewed", "--workers", "1"], ""),
        (["methods.py:counted", "--workers", "2"], '{"n":3}\n'),
        (["my.py:named", "--workers", "2"], "('n',)\n('n',)\n"),
        (["my.py:nothing"], ""),
        (["package.module:program", "--workers", "2"], "7\n8\n"),
        (["package/module.py:program", "--workers", "1", "--start", "spawn"], "7\n"),
    ],
)
def test_what_is_returned_is_printed(folder: Path, arguments: list[str], printed: str) -> None:
    done = (run if "spawn" in arguments else run_here)(folder, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_verbose_says_where_workers_run(folder: Path) -> None:
    workers = len(usable_cores()) + 1
    done = run_here(folder, "--verbose", "--workers", str(workers), "my.py:nothing")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("tokenring: workers on cores ")
    assert done.stderr.count("\n") == 1
    assert f"), not spinning: {workers} workers, and {workers - 1} core" in done.stderr


def test_rows_on_a_terminal_are_a_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")

    def program() -> None:
        os.dup2(theirs, 1)
        main(["run", "my.py:rows", "--workers", "1"])

    done = in_a_copy(program, ("tokenring",), folder, folder)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 1 << 16)
        except OSError:  # nobody has the other end any more
            break
    os.close(ours)
    assert done.returncode == 0, done.stderr
    words = [line.replace("│", " ").replace("┃", " ").split() for line in shown.decode().splitlines()]
    assert ["n", "name", "at"] in words
    assert ["10", "2024-01-01", "00:00:00.000000001Z"] in words


@pytest.mark.parametrize(
    ("named", "status", "said"),
    [
        ("my.py:row", 2, "my.py has no function 'row'; did you mean 'rows'?"),
        ("my.py:number", 2, "my.py:number: it is no function but of type int"),
        ("my.py", 2, "Give my.py:NAME; there are: rows, scoped, named"),
        ("mi.py:rows", 2, "mi.py: no such file; did you mean 'my.py'?"),
        ("package:x", 2, "package has no function 'x'; there are: none"),
        ("package.modul:program", 2, "no module 'package.modul' here or installed; did you mean 'package.module'?"),
        ("packag.module:program", 2, "no module 'packag.module' here or installed; did you mean 'package.module'?"),
        ("raising.py:f", 2, "raising.py: cannot be imported: JSONDecodeError"),
        ("raising:f", 2, "raising.py:2)"),
        ("broken.py:f", 2, "broken.py: cannot be imported: SyntaxError: invalid syntax"),
        ("leaving.py:f", 2, "leaving.py: cannot be imported: SystemExit: 5"),
        ("needing:f", 2, "needing: cannot be imported: ModuleNotFoundError: No module named 'not_there'"),
        ("my.py:two", 2, "my.py:two takes (worker, other)"),
        ("my.py:zero", 2, "my.py:zero takes nothing"),
        ("my.py:wrong", 1, "my.py:wrong: worker 0: ZeroDivisionError"),
        ("methods.py:unread", 1, "methods.py:unread: worker 0: the function returned Collection, which nobody"),
        ("methods.py:unnamed", 1, "worker 0: a Worker has no 'read_csv', which a scope has: say `with"),
        ("a-b:c", 2, "'a-b:c' names no program"),
        ("my", 2, "'my' is no query; name one of q0, "),
        ("q99", 2, "'q99' is no query; name one of q0, "),
        ("--", 2, "what to run is missing; name one of q0, "),
    ],
)
def test_what_cannot_be_run_is_one_line(folder: Path, named: str, status: int, said: str) -> None:
    done = (run if named == "my.py:row" else run_here)(folder, named)  # one of them as it is typed
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tokenring: error: ")
    assert said in done.stderr


def test_ctrl_c_is_one_line(folder: Path) -> None:
    with Command("run", f"{folder}/my.py:endless", "--workers", "2") as command:
        command.wait_for_workers(2, cpu_s=0)
        command.kill(command.pid, signal.SIGINT)
        assert command.end() == (130, "", "tokenring: error: interrupted\n")


def test_a_profile_of_a_function(folder: Path) -> None:
    (folder / "busy.py").write_text(
        "import time\n"
        "def busy(worker):\n"
        "    while time.process_time() < 0.3:\n"
        "        sum(range(1000))\n"
        "    return worker.index\n"
    )
    done = run(folder, "busy.py:busy", "--workers", "2", "--out", "here", command="profile")
    assert (done.returncode, done.stdout) == (0, "0\n1\n"), done.stderr
    assert {path.name for path in (folder / "here").iterdir()} >= {"worker-0.svg", "worker-1.svg", "merged.svg"}
    assert "busy.py" in (folder / "here" / "merged.svg").read_text()


@pytest.mark.parametrize("size", ["4X", "nonsense", "", "-1G", "0"])
def test_a_size_of_memory_that_is_none_is_one_line(folder: Path, size: str) -> None:
    done = run_here(folder, "--memory", size, "my.py:nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"tokenring: error: Invalid value for '--memory': {size!r} is no size of memory; write 4G, 512M, 1.5GiB or a "
        "number of bytes\n"
    )


def test_a_budget_of_memory_that_is_too_small_is_one_line_with_one_that_is_not(folder: Path) -> None:
    done = run(folder, "my.py:nothing", "--memory", "1M", "--workers", "4")
    assert (done.returncode, done.stdout) == (2, "")
    said = "my.py:nothing: a budget of 1.0 MiB cannot hold the group: 4 .* at least ([0-9.]+) MiB"
    found = re.search(said, done.stderr)
    assert found is not None, done.stderr
    assert run(folder, "my.py:nothing", "--memory", f"{found[1]}M", "--workers", "4").returncode == 0
