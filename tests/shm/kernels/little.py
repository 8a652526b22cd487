"""A little package with a library of its own: `make FOLDER` makes both; `ask FOLDER…` says, of copies with changes in
them, which kernels are taken out of the library; `open FOLDER…` whether a library is used at all, each in a process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from tests.imports import ROOT

FILES = {
    "__init__": """
from tokenring.sample.aback import go
from tokenring.sample.deep import BASE as FOUNDATION
""",
    "aback": """
from tokenring.shm.kernels import kernel
@kernel
def go(at):
    return at - 5
""",
    "ahead": """
from tokenring.shm.kernels import kernel
@kernel
def go(at):
    return at + 5
""",
    "deep": "BASE = 2\nPAIR = (1, 2)\n",
    "leaf": """
import numpy as np
from tokenring.shm.kernels import kernel
from tokenring.sample import FOUNDATION
STEP = FOUNDATION + 1
MARK = np.uint64(32)
@kernel
def advance(at):
    return at + STEP  # a step
""",
    "records": """
import numpy as np
from tokenring.shm.kernels import Record
from tokenring.sample.inner import Inner
ROW = np.dtype([("left", "i8"), ("right", "i8")])
class Outer(Record):
    first: int
    inner: Inner
""",
    "inner": """
from tokenring.shm.kernels import Record
class Inner(Record):
    one: int
    two: int
""",
    "emitting": """
def emitted(builder, value):
    return builder.add(value, value.type(7))
""",
    "machine": """
from numba import types
from numba.extending import intrinsic
from tokenring.sample.emitting import emitted
@intrinsic
def plus(typing, value):
    def emit(context, builder, signature, args):
        return emitted(builder, args[0])
    return types.int64(types.int64), emit
""",
    "caller": """
import tokenring.sample.leaf as leaf
from tokenring.shm.kernels import Later, int64, kernel, record_at, records_at
from tokenring.sample import go
from tokenring.sample.deep import PAIR
from tokenring.sample.leaf import STEP as STRIDE, MARK, advance
from tokenring.sample.records import ROW, Outer
FAR = 10 * STRIDE
plus = Later("tokenring.sample.machine", "plus")
@kernel(int64(int64))
def alone(at):
    return at - 1
@kernel(int64(int64))
def twice(at):
    return advance(advance(at))
@kernel(int64(int64))
def far(at):
    return at + FAR
@kernel(int64(int64))
def marked(at):
    return at + int64(MARK)
@kernel(int64(int64))
def of_module(at):
    return at + leaf.STEP
@kernel(int64(int64))
def gone(at):
    return go(at)
@kernel(int64(int64))
def added(at):
    return plus(at)
@kernel(int64(int64))
def paired(at):
    return at + PAIR[1]
@kernel(int64(int64))
def row(address):
    return records_at(address, 1, ROW)[0].left if address else 4
@kernel(int64(int64))
def within(address):
    return record_at(address, Outer).inner.two if address else 6
""",
}
VALUES = {
    "alone": -1, "twice": 6, "far": 30, "marked": 32, "of_module": 3, "gone": -5, "added": 7, "paired": 2, "row": 4,
    "within": 6,
}  # fmt: skip
"""What the kernels return of 0."""


def make(package: Path) -> None:
    """Make the package in a new folder, and its library."""
    (package / "sample").mkdir(parents=True)
    (package / "shm").symlink_to(ROOT / "tokenring" / "shm")
    for name, text in FILES.items():
        (package / "sample" / f"{name}.py").write_text(text)
    _run("make", package)


def ask(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """What is found in copies of the package."""
    return list(orjson.loads(_run("ask", *folders)))


def opened_in_children(folders: Sequence[Path]) -> list[list[Any]]:
    """Of libraries: whether one is used, and what is said of it; None, and how the process ended, if it crashed."""
    return list(orjson.loads(_run("open", *folders)))


def best_levels(count: int) -> list[Any]:
    """The least levels of this processor."""
    from llvmlite.binding import get_host_cpu_features

    from tokenring.shm.kernels.levels import levels_for

    return levels_for(platform.machine(), {name for name, has in get_host_cpu_features().items() if has})[-count:]


def _run(*arguments: str | Path) -> bytes:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "tests.shm.kernels.little", *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, timeout=250)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def _make(package: Path) -> None:
    import tokenring
    from tokenring.shm.kernels import kernels_to_make_ready
    from tokenring.shm.kernels.making import make_library

    tokenring.__path__.append(str(package))
    import tokenring.sample.caller  # type: ignore[import-not-found]

    kernels = [one for one in kernels_to_make_ready() if one.name.startswith("tokenring.sample.")]
    make_library(kernels, best_levels(2), package, package / "_kernels", processes=1)


def _asked(package: Path) -> dict[str, Any]:
    from importlib import import_module

    import tokenring
    from tokenring.shm.kernels.ingredients import ingredients
    from tokenring.shm.kernels.library import opened
    from tokenring.shm.kernels.making.sources import files_of

    tokenring.__path__.append(str(package))
    caller = import_module("tokenring.sample.caller")
    library, _ = opened(package, package / "_kernels")
    assert library is not None
    found, made_of, files = {}, {}, {}
    for name in VALUES:
        kernel = getattr(caller, name)
        function = library.find(kernel)
        if function is not None:
            found[name] = function(0)
        made_of[name] = ingredients(kernel.py_func)
        files[name] = sorted([file.stem for file in files_of(kernel.py_func) if file.parent.name == "sample"])
    changed = [library.changed(), library.changed(for_sure=True)]
    return {"found": found, "made_of": made_of, "files": files, "changed": changed}


def _opened(folder: Path) -> list[Any]:
    from tokenring.shm.kernels.library import opened

    library, why = opened(ROOT / "tokenring", folder)
    return [library is not None, why]


def _in_a_child(answer: Callable[[Path], Any], folder: Path) -> Any:
    """What a fork of this process answers: None, and its status, if it gives no answer."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write_end, orjson.dumps(answer(folder)))
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as told:
        said = told.read()
    _, status = os.waitpid(pid, 0)
    return orjson.loads(said) if status == 0 else [None, f"status {status}"]


if __name__ == "__main__":
    what, *folders = sys.argv[1:]
    if what == "make":
        _make(Path(folders[0]))
    else:
        if what == "ask":
            import tokenring.shm.kernels.making.front
            import tokenring.shm.memory.intrinsics  # noqa: F401  # numba comes once, for all of them
        answer = _asked if what == "ask" else _opened
        print(orjson.dumps([_in_a_child(answer, Path(folder)) for folder in folders]).decode())
