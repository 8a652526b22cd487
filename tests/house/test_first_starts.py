"""A first start, wherever it is: the README's first program takes its kernels out of the library, needs no compiler,
leaves nothing behind; and where there is no library it says so in a line."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.strangers import README_FIRST, environment
from tests.imports import ROOT
from tests.long_form import LONG, examples
from tokenring.shm.kernels import library

WATCHDOG_S = 120
PACKAGE = ROOT / "tokenring"
STUB = """
import os
with open({told!r}, "a") as told:
    print({name!r}, os.getpid(), file=told)
raise ModuleNotFoundError("No module named {name!r}", name={name!r})
"""
PROGRAM = """
def program(worker):
    worker.step_while(lambda: True)
"""


def _stubs(folder: Path, told: Path) -> Path:
    """A folder that hides the compilers, and notes in a file who looked for them."""
    for name in ("numba", "llvmlite"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(STUB.format(name=name, told=str(told)))
    return folder


def _tree(folder: Path) -> Path:
    """A package with the sources of this one, and no library."""
    package = folder / "tokenring"
    package.mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name not in ("_kernels", "__pycache__"):
            (package / path.name).symlink_to(path)
    return package


@dataclass
class Start:
    """How a program ended, which compilers it looked for, and what files it left at home."""

    status: int
    out: str
    err: str
    looked_for: str
    left: list[Path]


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Start]:
    """Of the README's first program, several at once."""
    folder = tmp_path_factory.mktemp("starts")
    program = folder / "program.py"
    program.write_text(README_FIRST.text)
    homes = {"one": folder / "home", "homeless": None, "without a library": folder / "else"}
    if LONG:
        homes["another"] = folder / "home"
    (folder / "home").mkdir()
    (folder / "else").mkdir()
    _tree(folder / "tree")
    running = {}
    for how, home in homes.items():
        told = folder / f"{how}.told"
        package = folder / "tree" if how == "without a library" else ROOT
        path = f"{_stubs(folder / how, told)}:{package}"
        variables = environment(PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
        variables.pop("HOME", None)
        if home is not None:
            variables["HOME"] = str(home)
        running[how] = subprocess.Popen(
            [sys.executable, program], env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    ended = {}
    for how, process in running.items():
        with process:
            out, err = process.communicate(timeout=WATCHDOG_S)
        told, home = folder / f"{how}.told", homes[how]
        looked_for = told.read_text() if told.exists() else ""
        left = list(home.rglob("*")) if home is not None else []
        ended[how] = Start(process.returncode, out, err, looked_for, left)
    return ended


def _sound() -> bool:
    found, _ = library()
    return found is not None and not found.changed(for_sure=True)


needs_library = pytest.mark.skipif(not _sound(), reason="no library of these sources: `tokenring kernels --make`")


@needs_library
@pytest.mark.parametrize("how", ["one", "homeless", *["another"] * LONG])
def test_a_first_start_needs_no_compiler_and_leaves_nothing(starts: dict[str, Start], how: str) -> None:
    assert starts[how] == Start(0, README_FIRST.prints or "", "", "", [])


@needs_library
def test_nothing_is_written_beside_the_library(starts: dict[str, Start]) -> None:
    names = {path.name for path in (PACKAGE / "_kernels").iterdir()}
    assert {name for name in names if not name.endswith(".abi3.so")} == {"kernels.json"}


def test_without_a_library_and_a_compiler_one_line_says_what_to_install(starts: dict[str, Start]) -> None:
    found = starts["without a library"]
    assert (found.status, found.out, found.left) == (1, "", [])
    last = found.err.splitlines()[-1]
    assert re.match(r"(tokenring\.\S+\.)?KernelError: kernel tokenring\.\S+ is not in the library", last)
    assert "numba, which would compile it, is not installed: pip install 'tokenring[kernels]' (there is no" in last


def _run(package: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    variables = environment(PYTHONPATH=f"{path}:{package.parent}", PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=variables, cwd=package.parent, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
    )


@pytest.mark.parametrize(
    "arguments",
    [pytest.param(["warm-up"], marks=pytest.mark.slow), ["kernels", "--make"], ["run", "endless.py:program"]],
)
def test_a_command_that_misses_the_compiler_says_so_in_a_line(tmp_path: Path, arguments: list[str]) -> None:
    stubs = _stubs(tmp_path / "stubs", tmp_path / "told")
    package = _tree(tmp_path / "tree")
    (package.parent / "endless.py").write_text(PROGRAM)
    done = _run(package, "-m", "tokenring", *arguments, path=str(stubs))
    assert (done.returncode, done.stdout) == (1, "")
    assert re.match("tokenring: error: (endless.py:program: )?kernel", done.stderr)
    assert done.stderr.count("\n") == 1
    assert "pip install 'tokenring[kernels]'" in done.stderr


NOT_REALLY = """
from tokenring.engine.group import warm_up
from tokenring.shm.kernels import Entry, Kernel
Kernel.make_ready = Entry.make_ready = lambda self, only_load=False: not only_load
print(warm_up() > 200)
"""


def test_a_start_without_a_library_says_in_a_line_what_it_compiles_and_why(tmp_path: Path) -> None:
    """What it says only: to compile takes minutes."""
    package = _tree(tmp_path)
    (package / "_kernels").mkdir()
    (package / "_kernels" / "kernels.json").write_text("{")
    done = _run(package, "-c", NOT_REALLY)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert re.fullmatch(r"compiling \d+ kernels, once \(the library cannot be used \(.*\)\)\n", done.stderr)


def _cpu_s(pid: int) -> float:
    """As proc(5) has it: the 14th and 15th field, twelve after the name, which may hold spaces."""
    user, system = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _has_children(pid: int) -> bool:
    return bool(Path(f"/proc/{pid}/task/{pid}/children").read_bytes())


@pytest.fixture
def nothing_left() -> Iterator[None]:
    before = set(os.listdir("/dev/shm"))
    yield
    assert set(os.listdir("/dev/shm")) <= before
INSTANTS = examples(5)


@needs_library
def test_interrupted_at_any_instant_of_a_start(tmp_path: Path, nothing_left: None) -> None:
    (tmp_path / "endless.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "tokenring", "run", "endless.py:program", "--workers", "2"]
    for _ in range(INSTANTS):
        with subprocess.Popen(
            command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(PYTHONPATH=str(ROOT), HOME=str(tmp_path)),
        ) as process:  # fmt: skip
            cpu_s = random.uniform(0.08, 0.5)
            while _cpu_s(process.pid) < cpu_s and not _has_children(process.pid):
                time.sleep(0.002)
            time.sleep(random.choice([0, random.uniform(0, 0.1)]))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=WATCHDOG_S)
        assert (process.returncode, out) == (130, ""), (cpu_s, err)
        assert err in ("", "tokenring: error: interrupted\n"), cpu_s
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["endless.py"]
