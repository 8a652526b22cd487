"""Kernels are made ready in the launcher, before the fork: importing compiles none, and no worker does."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.errors import raises
from tokenring.engine import (
    COLUMN,
    COLUMNS_COMPILED,
    KernelError,
    Schema,
    TokenRingError,
    Worker,
    execute,
    int64,
    kernel,
    kernel_for_columns,
    void,
)
from tokenring.engine.compiled import entry
from tokenring.operators import broadcast, collect, exchange, filter, latest

WIDE = [f"c{at}" for at in range(20)]


@kernel(int64(COLUMN))
def total(column: Any) -> int:
    found = 0
    for value in column:
        found += value
    return found


@kernel
def doubled(value: int) -> int:
    return 2 * value


@kernel_for_columns(lambda columns: int64(columns))
def width_of(columns: Any) -> int:
    return len(columns)


def _python(program: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | more
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=200)


def test_importing_neither_compiles_nor_loads_numba() -> None:
    heavy = "{'numba', 'llvmlite', 'pandas', 'pyarrow'}"
    ran = _python(f"import sys, tokenring.engine, tokenring.operators; print({heavy} & set(sys.modules))")
    assert (ran.stdout, ran.stderr) == ("set()\n", "")


def test_a_kernel_is_ready_in_every_worker() -> None:
    assert execute(lambda worker: int(total(np.arange(worker.index + 3))), workers=2) == [3, 6]


@pytest.mark.parametrize("threshold", [700, 0, 200_000])
def test_looks_for_garbage_are_as_they_were_in_every_worker(threshold: int) -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(threshold, 7, 9)
        assert execute(lambda worker: gc.get_threshold(), workers=1) == [(threshold, 7, 9)]
        assert gc.get_threshold() == (threshold, 7, 9)
    finally:
        gc.set_threshold(*before)


def test_no_worker_compiles_what_was_declared_before_the_fork() -> None:
    assert doubled(2) == 4, "the launcher may"
    with raises(KernelError, "worker 0", f"kernel {__name__}.doubled", "no signature", "@kernel("):
        execute(lambda worker: doubled(2), workers=1)


def test_kernels_for_columns_are_ready_for_as_many_as_were_asked_for() -> None:
    width_of(COLUMNS_COMPILED + 1)
    columns = tuple([np.arange(1)] * (COLUMNS_COMPILED + 1))
    assert execute(lambda worker: [int(width_of(n)(columns[:n])) for n in (1, 8, 9)], workers=1) == [[1, 8, 9]]


WRONG: dict[str, tuple[Any, tuple[str, ...]]] = {
    "attribute": (lambda: kernel(int64(COLUMN))(lambda column: column.nothing), ("'nothing'", "int64, 1d")),
    "plain function": (lambda: kernel(int64(int64))(lambda value: plain(value)), ("'plain'", "@tr.kernel")),
    "read-only": (lambda: kernel(void(COLUMN))(writes), ("setitem", "readonly array")),
    "arguments": (lambda: kernel(int64(int64, int64))(lambda value: value), ("2 argument types", "1 arguments")),
    "signature": (lambda: kernel(5)(lambda value: value), ("5",)),  # type: ignore[call-overload]
    "entry": (lambda: entry(lambda world: 0), ("int64, int64", "(world)")),
    "nothing": (lambda: entry(lambda world, me: None), ("returns none", "integer")),
    "float": (lambda: entry(lambda world, me: 1.5), ("returns float64", "integer")),
}


def plain(value: int) -> int:
    return value


def writes(column: Any) -> None:
    column[0] = 1


@pytest.mark.parametrize("which", WRONG)
def test_one_that_cannot_be_compiled_is_told_once(which: str) -> None:
    """In one line, by its name and place; then only to who uses it."""
    make, facts = WRONG[which]
    wrong = make()
    said = f"kernel {__name__}.", "test_kernels_before_fork.py:", "cannot be compiled", *facts
    with raises(KernelError, *said) as told:
        execute(lambda worker: 1, workers=1)
    assert isinstance(told.value, TokenRingError)
    assert "\n" not in str(told.value)
    assert execute(lambda worker: 1, workers=1) == [1]
    with raises(KernelError, *said):
        execute(lambda worker: wrong(1, 2), workers=1)


def test_what_is_no_function_is_refused() -> None:
    with raises(KernelError, "5", "function"):
        kernel(int64(int64))(5)  # type: ignore[type-var]


def test_a_call_that_the_signature_does_not_have_names_the_kernel() -> None:
    with raises(KernelError, f"kernel {__name__}.total", "readonly array(int64, 1d, C)", "array(float64, 1d, C)"):
        total(np.arange(3.0))


LATE = """
from tokenring.engine import execute, int64, kernel

def program(worker):
    @kernel(int64(int64))
    def late(value):
        return value + 1
    return late(1)

print(execute(program, workers=1))
"""


def test_a_kernel_declared_in_a_worker_is_compiled_there_and_told() -> None:
    ran = _python(LATE)
    assert ran.stdout == "[2]\n"
    assert "KernelInWorkerWarning: worker 0 compiles kernel __main__.program.<locals>.late" in ran.stderr


def _wide(worker: Worker) -> list[Any]:
    with worker.dataflow("wide") as scope:
        rows, stream = scope.new_input(Schema(" ".join(WIDE)))
        moved = exchange(stream, "c0")
        few = moved
        for name in WIDE:
            few = filter(few, name, ">=", 30)
        passed = collect(few)
        everywhere, last = collect(broadcast(stream)), latest(moved, "c0")
    if worker.index == 0:
        rows.send({name: np.arange(100) + at for at, name in enumerate(WIDE)})
    rows.close()
    worker.run()
    of_last = list(last.columns().values())
    found = passed.columns()["c19"], everywhere.columns()["c5"], of_last[0], of_last[19]
    return [column.tolist() for column in found]


def test_rows_wider_than_any_kernel_cross_without_compiling() -> None:
    of_first, of_second = execute(_wide, workers=2)
    assert sorted([*of_first[0], *of_second[0]]) == list(range(49, 119))
    assert of_first[1] == of_second[1] == list(range(5, 105))
    assert sorted([*of_first[2], *of_second[2]]) == list(range(100))
    assert [value + 19 for value in of_first[2]] == of_first[3]


CACHED = """
from tokenring.shm.kernels import int64, kernel
@kernel(int64(int64))
def next_of(value):
    return value + 1
@kernel(int64(int64))
def last_of(value):
    return value - 1
if __name__ == "__main__":
    from tokenring.engine.group.warm_up import warm_up
    print(warm_up() >= 2, next_of(1), last_of(1))
"""


def _in_file(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    program = folder / "cached.py"
    program.write_text(CACHED)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | more
    return subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=500)


def test_what_is_compiled_is_told_once(tmp_path: Path) -> None:
    first, second = _in_file(tmp_path), _in_file(tmp_path)
    assert first.stdout == "True 2 0\n"
    assert first.stderr.splitlines() == ["compiling 2 kernels, once"]
    assert (second.stdout, second.stderr) == ("False 2 0\n", "")


def test_a_damaged_cache_is_compiled_anew(tmp_path: Path) -> None:
    _in_file(tmp_path)
    for kept in (tmp_path / "__pycache__").glob("cached.*.nb[ic]"):
        kept.write_bytes(kept.read_bytes()[: -len(kept.name)])
    ran = _in_file(tmp_path)
    assert (ran.stdout, ran.stderr) == ("True 2 0\n", "compiling 2 kernels, once\n")
    assert _in_file(tmp_path).stderr == ""


UNKEPT = """
import sys
sys.dont_write_bytecode = True
from numba.core import caching
for locator in caching.FunctionCache._impl_class._locator_classes:
    locator.from_function = classmethod(lambda *arguments: None)  # as where no folder can be written, not even by root
from tokenring.shm.kernels import int64, kernel
sys.path.insert(0, {folder!r})
import cached
from tokenring.shm.kernels import kernels_to_make_ready
print(cached.next_of(1), cached.last_of(1))
"""


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "cached.py").write_text(CACHED)
    ran = _python(UNKEPT.format(folder=str(tmp_path)))
    assert ran.stdout == "2 0\n"
    assert ran.stderr.count("KernelCacheWarning: compiled kernels cannot be kept") == 1
    assert "Traceback" not in ran.stderr


def test_a_disk_that_is_full_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "cached.py").write_text(CACHED)
    (tmp_path / "kept").write_text("a file where a folder is wanted")
    ran = _in_file(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert ran.stdout == "True 2 0\n"


MANY = """
import os
import signal
import sys
from tokenring.shm.kernels import Kernel, int64, kernel
{kernels}
def compiled_by(self, only_load=False, make_ready=Kernel.make_ready):
    if not only_load and not self._is_ready:
        with open(sys.argv[1], "a") as told:
            print(os.getpid(), self.name, file=told)
    return make_ready(self, only_load)
def fork_in_vain(fork=os.fork):
    pid = fork()
    if pid:
        os.kill(pid, signal.SIGKILL)
    return pid
if __name__ == "__main__":
    from tokenring.engine.group.warm_up import warm_up
    Kernel.make_ready = compiled_by
    if sys.argv[2] == "killed":
        os.fork = fork_in_vain
    print(warm_up(), sum(globals()[f"plus_{{n}}"](1) for n in range(20)))
"""
PLUS = "@kernel(int64(int64))\ndef plus_{n}(value):\n    return value + {n}\n"


@pytest.mark.parametrize("second", ["lives", "killed"])
def test_many_are_compiled_by_two_processes_and_all_are_ready(second: str, tmp_path: Path) -> None:
    program, told = tmp_path / "many.py", tmp_path / "told"
    program.write_text(MANY.format(kernels="".join(PLUS.format(n=n) for n in range(20))))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, program, told, second]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
    assert ran.stderr.splitlines() == ["compiling 20 kernels, once"]
    assert ran.stdout == f"20 {20 + sum(range(20))}\n"
    if second == "lives" and len(os.sched_getaffinity(0)) > 1:
        assert len({line.split()[0] for line in told.read_text().splitlines()}) == 2
