"""`benchmark starts`: whole processes that do next to nothing, from call to exit."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import click

from scripts.benchmarks.measure import ROOT, ROUNDS, Done, Found, benchmark, child
from tokenring.nexmark.bench.parts import option, spread, table, take_turns
from tokenring.tools.errors import CommandError

_BARE = "an empty Python"
_LIBRARIES = "Python with numpy and pyarrow"


@benchmark(
    option("--input DIR", click.Path(path_type=Path), "Staged events, for q7.", to="folder"),
    option("--twice", None, "Beside a library of twice as many kernels, made for it: some minutes.", is_flag=True),
    ROUNDS,
)
def command(folder: Path | None, twice: bool, rounds: int) -> Found:
    """Starts: README's first program, the command's help, a query, beside what importing numpy and pyarrow takes."""
    with tempfile.TemporaryDirectory() as scratch, _libraries(twice, Path(scratch)) as libraries:
        programs = _programs(folder, Path(scratch))
        cases = [(name, library) for name in programs for library in libraries]
        outcomes = take_turns("starts", cases, rounds, lambda case: _run(programs[case[0]], case[1]))
    rows = [
        {"program": name, "library": "twice as many kernels" if library else "as it is"}
        | {figure: spread([getattr(one, figure) for one in of_case]) for figure in ("wall_s", "processor_s")}
        for (name, library), of_case in outcomes.items()
    ]
    return {"rounds": rounds}, {"rows": rows}


def _programs(folder: Path | None, scratch: Path) -> dict[str, list[str]]:
    first = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert first is not None
    (scratch / "first.py").write_text(first[1])
    found = {
        _BARE: ["-c", "pass"],
        _LIBRARIES: ["-c", "import numpy, pyarrow"],
        "import tokenring": ["-c", "import tokenring"],
        "README's first program": [str(scratch / "first.py")],
        "tokenring --help": ["-m", "tokenring", "--help"],
    }
    if folder is not None:
        found["tokenring run q7"] = ["-m", "tokenring", "run", "q7", "--input", str(folder)]
    return found


def _run(program: list[str], library: str) -> Done:
    """One process."""
    environment: dict[str, Any] = {"TOKENRING_KERNELS": library} if library else {}
    return child(" ".join(program), *program, **environment)


@contextmanager
def _libraries(twice: bool, scratch: Path) -> Iterator[list[str]]:
    """The folders of libraries, "" for the package's own."""
    if not twice:
        yield [""]
        return
    from tokenring.engine.kernel_library import import_everything
    from tokenring.shm.kernels import Entry, Kernel, kernels_to_make_ready
    from tokenring.shm.kernels.making import make_library, this_level

    import_everything()
    kernels = kernels_to_make_ready()
    again = []
    for one in kernels:
        copy = FunctionType(one.py_func.__code__, one.py_func.__globals__, f"{one.py_func.__name__}_again")
        copy.__qualname__, copy.__module__ = f"{one.py_func.__qualname__}_again", one.py_func.__module__
        again.append(Entry(copy) if isinstance(one, Entry) else Kernel(copy, one.signature))
    package, folder = ROOT / "tokenring", scratch / "twice"
    pid = os.fork()  # who makes a library has changed numba for good
    if pid == 0:
        make_library([*kernels, *again], [this_level(os.uname().machine)], package, folder)
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        raise CommandError("the library of twice as many kernels could not be made")
    yield ["", str(folder)]


def tables(data: dict[str, Any]) -> list[str]:
    """A row for each program and library."""
    seconds = [
        (f"{said} s" if of == "median" else of, f"{name}.{of}")
        for said, name in (("wall", "wall_s"), ("processor", "processor_s"))
        for of in ("median", "least", "greatest")
    ]
    return [
        f"Whole processes from call to exit, interleaved; medians of {data['parameters']['rounds']} rounds.",
        table(data["rows"], ("process", "program"), ("library of kernels", "library"), *seconds),
    ]
