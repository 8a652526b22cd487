"""`benchmark starts`: whole processes that do next to nothing, from call to exit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

import click

from scripts.benchmarks.measure import ROOT, json_option, rounds_option, spread, take_turns, write_json
from scripts.benchmarks.render import render
from tokenring.tools.errors import CommandError
from tokenring.tools.system.files import require_writable

_BARE = "an empty Python"
_LIBRARIES = "Python with numpy and pyarrow"


@click.command()
@click.option("--input", "input_folder", metavar="DIR", type=click.Path(path_type=Path), help="Staged events, for q7.")
@click.option("--twice", is_flag=True, help="Beside a library of twice as many kernels, made for it: some minutes.")
@rounds_option
@json_option
def command(input_folder: Path | None, twice: bool, rounds: int, json_file: Path) -> None:
    """Starts: README's first program, the command's help, a query, beside what importing numpy and pyarrow takes."""
    require_writable(json_file)
    with tempfile.TemporaryDirectory() as scratch, _libraries(twice, Path(scratch)) as libraries:
        programs = _programs(input_folder, Path(scratch))
        cases = [(name, library) for name in programs for library in libraries]
        outcomes = take_turns("starts", cases, rounds, lambda case: _run(programs[case[0]], case[1]))
    rows = [
        {"program": name, "library": "twice as many kernels" if library else "as it is"}
        | {figure: spread([one[figure] for one in of_case]) for figure in of_case[0]}
        for (name, library), of_case in zip(cases, outcomes, strict=True)
    ]
    click.echo(render(write_json(json_file, "starts", {"rounds": rounds}, {"rows": rows})))


def _programs(input_folder: Path | None, scratch: Path) -> dict[str, list[str]]:
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
    if input_folder is not None:
        found["tokenring run q7"] = ["-m", "tokenring", "run", "q7", "--input", str(input_folder)]
    return found


def _run(program: list[str], library: str) -> dict[str, float]:
    """One process: seconds from call to exit, and of processors, its children's included."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if library:
        environment["TOKENRING_KERNELS"] = library
    before, start = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, *program], env=environment, capture_output=True, text=True, check=False)
    wall_s, after = time.perf_counter() - start, os.times()
    if done.returncode != 0:
        raise CommandError(f"{' '.join(program)} failed: {done.stderr.strip()[-500:]}")
    used_s = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_s": wall_s, "processor_s": used_s}


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
