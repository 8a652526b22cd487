"""Makes the library of kernels: in several processes, each of which compiles a part of them, for every level."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
from llvmlite import binding

from tokenring.shm.errors import KernelError
from tokenring.shm.kernels.deferred_signals import ENDING_SIGNALS
from tokenring.shm.kernels.entry import Entry
from tokenring.shm.kernels.ingredients import ingredients, references
from tokenring.shm.kernels.kernel import Kernel
from tokenring.shm.kernels.levels import LEVELS, Level
from tokenring.shm.kernels.library import ENDING, FORMAT, LIST, PROCESSOR, hash_of, key_of, python_version, stamp_of
from tokenring.shm.kernels.making.sources import files_of
from tokenring.shm.stamp_words import STAMP_WORDS

_OBJECT = ".o"


def this_level(machine: str) -> Level:
    """The best level of this processor; of another machine the least."""
    there = [level for level in LEVELS if level.machine == machine]
    can = {name for name, has in binding.get_host_cpu_features().items() if has}
    return next((level for level in there if can.issuperset(level.needs)), there[-1])


def make_library(
    kernels: Sequence[Kernel],
    levels: Sequence[Level],
    package: Path,
    folder: Path,
    processes: int = 0,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> None:
    """Make the library of `kernels`, all with signatures, for levels of one machine, in a folder that is replaced when
    all is done. package: what files are named from; progress(done, of): called now and then.

    KernelError if there is no linker or a part fails, with what it said.
    """
    from tokenring.shm.kernels.making.front import prepare

    kernels = sorted(kernels, key=key_of)
    listed = _list(kernels, package)  # as those see it who ask whether it fits
    prepare()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".kernels-", dir=folder.parent) as scratch:
        work, made = Path(scratch) / "work", Path(scratch) / "made"
        work.mkdir()
        made.mkdir()
        parts = _parts(kernels, processes or len(os.sched_getaffinity(0)))
        _in_processes([part for part in parts if part], kernels, levels, work, progress)
        _link(kernels, levels, listed, work, made)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)


def _list(kernels: Sequence[Kernel], package: Path) -> dict[str, Any]:
    """What the library's list says of kernels."""
    root = package.resolve()
    rooms = {path.resolve(): path.name for path in package.iterdir() if path.is_dir()}
    numbers: dict[Path, int] = {}
    sources: list[list[str]] = []

    def number(file: Path) -> int:
        if file not in numbers:
            above = next(room for room in rooms if file.is_relative_to(room))
            numbers[file] = len(sources)
            name = Path(rooms[above]) / file.relative_to(above)
            sources.append([name.as_posix(), hash_of((root / name).read_bytes())])
        return numbers[file]

    here = Path(__file__).resolve().parent
    how = [number(file) for file in sorted([*here.glob("*.py"), *here.glob("*.ll")])]
    rows = []
    for kernel in kernels:
        files = sorted(files_of(kernel.py_func))
        rows.append([key_of(kernel), ingredients(kernel.py_func), [*how, *map(number, files)]])
    compilers = [version("numba"), version("llvmlite")]
    return {"compilers": compilers, "python": python_version(), "sources": sources, "kernels": rows}


def _parts(kernels: Sequence[Kernel], count: int) -> list[list[int]]:
    """The numbers of kernels, dealt so that parts cost the same: code that several take in is compiled in each."""
    least, most = 0, _dealt(kernels, 0)[1]
    while most - least > most // 100:
        middle = (least + most) // 2
        if len(_dealt(kernels, middle)[0]) > count:
            least = middle
        else:
            most = middle
    return _dealt(kernels, most)[0]


def _dealt(kernels: Sequence[Kernel], most: int) -> tuple[list[list[int]], int]:
    """Parts that cost `most` each, 0 for any; and what all cost together."""
    parts: list[list[int]] = [[]]
    seen: set[Any] = set()
    cost = total = 0
    for number, kernel in enumerate(kernels):
        more = _new_code(kernel.py_func, seen)
        if most and cost and cost + more > most:
            parts.append([])
            seen, cost = set(), 0
            more = _new_code(kernel.py_func, seen)
        parts[-1].append(number)
        cost += more
        total += more
    return parts, total


def _new_code(function: Callable[..., Any], seen: set[Any]) -> int:
    """How much code is compiled for a function beyond what has been seen."""
    if function in seen:
        return 0
    seen.add(function)
    cost = len(function.__code__.co_code)
    for value in references(function).values():
        called = getattr(value, "py_func", None)
        if called is not None:
            cost += _new_code(called, seen)
    return cost


def _in_processes(
    parts: Sequence[Sequence[int]],
    kernels: Sequence[Kernel],
    levels: Sequence[Level],
    work: Path,
    progress: Callable[[int, int], None],
) -> None:
    """Compile each part in a process of its own. They tell how far they are by a byte for each step."""
    steps = sum([len(part) for part in parts]) + len(parts) * len(levels)
    told, tell = os.pipe()
    running: dict[int, int] = {}
    try:
        for at, part in enumerate(parts):
            pid = os.fork()
            if pid == 0:
                os.close(told)
                _live(at, part, kernels, levels, work, tell)
            running[pid] = at
        os.close(tell)
        tell = -1
        done = 0
        while told_now := os.read(told, 1024):
            done += len(told_now)
            progress(done, steps)
        failed = []
        while running:
            pid, status = os.wait()
            at = running.pop(pid, -1)
            if at >= 0 and status != 0:
                said = work / f"{at}.error"
                failed.append(said.read_text() if said.exists() else f"a process ended with status {status}")
        if failed:
            raise KernelError("the library of kernels could not be made: " + "; ".join(failed))
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(told)
        if tell >= 0:
            os.close(tell)


def _live(
    at: int, part: Sequence[int], kernels: Sequence[Kernel], levels: Sequence[Level], work: Path, tell: int
) -> None:
    """A process that compiles one part, from its beginning to its end."""
    status = 1
    try:
        for number in ENDING_SIGNALS:  # of which who started it tells
            signal.signal(number, signal.SIG_DFL)
        _compile(at, part, kernels, levels, work, lambda: os.write(tell, b"."))
        status = 0
    except BaseException as error:
        (work / f"{at}.error").write_text(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        os._exit(status)


def _compile(
    at: int,
    part: Sequence[int],
    kernels: Sequence[Kernel],
    levels: Sequence[Level],
    work: Path,
    step: Callable[[], object],
) -> None:
    import gc

    from tokenring.shm.kernels.making.calls import call_text, calls_text
    from tokenring.shm.kernels.making.front import compile_kernel, linked
    from tokenring.shm.kernels.making.machine_code import optimised
    from tokenring.shm.kernels.signatures import resolved

    gc.disable()  # what numba makes stays
    libraries, calls = [], []
    for number in part:
        try:
            name, library = compile_kernel(kernels[number])
        except Exception as error:
            raise KernelError(f"{kernels[number].name}: {type(error).__name__}: {error}") from error
        libraries.append(library)
        calls.append(call_text(number, kernels[number], name, resolved(kernels[number].signature)))
        step()
    seen = {f"call.{number}" for number in part} | {f"entry.{number}" for number in part}
    module = linked(libraries, [binding.parse_assembly(calls_text(calls))], seen)
    code = module.as_bitcode()
    for level in levels:
        (work / f"{at}-{level.name}{_OBJECT}").write_bytes(optimised(code, level))
        step()


def _link(kernels: Sequence[Kernel], levels: Sequence[Level], listed: dict[str, Any], work: Path, made: Path) -> None:
    """Put the parts together, for each level, and write the list."""
    from tokenring.shm.kernels.making.calls import module_text
    from tokenring.shm.kernels.making.machine_code import link, object_of
    from tokenring.shm.kernels.making.processor import PROCESSOR as PROCESSORS

    entries = [number for number, kernel in enumerate(kernels) if isinstance(kernel, Entry)]
    sizes: dict[str, int] = {}
    for level in levels:
        common = work / f"common-{level.name}{_OBJECT}"
        text = module_text(len(kernels), entries, stamp_of(listed, level.name))
        common.write_bytes(object_of(text, level))
        to = made / f"{level.name}{ENDING}"
        link([common, *sorted(work.glob(f"[0-9]*-{level.name}{_OBJECT}"))], to, level.machine)
        sizes[level.name] = to.stat().st_size
    least = Level("least", levels[0].machine, (), "generic" if levels[0].machine == "aarch64" else "x86-64")
    asked = work / f"{PROCESSOR}{_OBJECT}"
    asked.write_bytes(object_of(PROCESSORS[least.machine], least))
    link([asked], made / f"{PROCESSOR}{ENDING}", least.machine)
    sizes[PROCESSOR] = (made / f"{PROCESSOR}{ENDING}").stat().st_size
    (made / LIST).write_bytes(orjson.dumps({"format": FORMAT, "coordinates": STAMP_WORDS, "files": sizes, **listed}))
