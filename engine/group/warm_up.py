"""Makes every kernel declared so far ready before the group forks: out of the library, from numba's cache, or by
compiling it, once.

Where many are to be compiled and there are two cores, a second process helps: both take the next kernel out of one
pipe, until it is empty. Nothing depends on the second: what it did not keep, because it died or nothing can be kept,
the first compiles once more. It leaves signals to the first, which ends it whatever happens; the system does if the
first is killed.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import NoReturn

from tokenring.engine.group.interrupts import leave_to_launcher
from tokenring.engine.group.linux import die_with_parent
from tokenring.engine.kernel_library import import_everything
from tokenring.shm.kernels import DeferredSignals, Kernel, kernels_to_make_ready, library

_FOR_PROGRAMS = ("shm", "engine", "operators")
_MANY = 16
"""So many kernels are worth a process."""
_INDEX_BYTES = 2
_MOST = 1 << 15
"""So many indices fit into a pipe of 64 KiB."""
_COLLECT_EVERY = 100_000
"""New objects until the next look for garbage: what loads and compiles kernels makes many that stay."""


def warm_up() -> int:
    """Make all declared kernels ready; says on stderr what it is about to compile. Returns how many were compiled.
    Raises why the first could not be compiled; the next call does not try those that could not.

    What the library does not serve is imported before, so that it is compiled here and not in each worker.
    """
    found, why = library()
    if found is None:
        import_everything(_FOR_PROGRAMS)  # programs may name it for the first time in a worker
    else:
        changed = found.changed()
        for module in changed:
            _import_if_there(module)
        why = "changed since the library of kernels was made" if changed else ""
    with _collecting_seldom():
        missing = [waiting for waiting in kernels_to_make_ready() if not _make_ready(waiting, only_load=True)]
        if left := [waiting for waiting in missing if waiting.failure is None]:
            _compile(left, why)
    failed = [waiting.failure for waiting in missing if waiting.failure is not None]
    if failed:
        raise failed[0]
    return len(missing)


def _import_if_there(module: str) -> None:
    """Import a module of the package, if it has not gone since the library was made."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Looks for garbage would take an eighth of the time in which kernels are loaded, a tenth of that of compiling."""
    before = gc.get_threshold()
    try:
        if 0 < before[0] < _COLLECT_EVERY:  # 0 is never
            gc.set_threshold(_COLLECT_EVERY, *before[1:])
        yield
    finally:
        gc.set_threshold(*before)


def _compile(kernels: Sequence[Kernel], why: str) -> None:
    said = f"compiling {len(kernels)} kernel{'s' * (len(kernels) > 1)}, once{f' ({why})' * bool(why)}"
    moving = sys.stderr.isatty()
    print(said, end=":" if moving else "\n", file=sys.stderr, flush=True)
    with _SecondCompiler(kernels) as second:
        for at in second.left():
            if moving:
                print(f"\r{said}: {100 * at // len(kernels)} %", end="", file=sys.stderr, flush=True)
            _make_ready(kernels[at])
    for missing in kernels:  # those of the second are in the cache by now
        _make_ready(missing)
    if moving:
        print(f"\r{said}: done ", file=sys.stderr, flush=True)


def _make_ready(kernel: Kernel, only_load: bool = False) -> bool:
    """Make it ready, or give it up: who does not use it is not to hear of it again. Whether it is ready."""
    try:
        return kernel.failure is None and kernel.make_ready(only_load)
    except Exception as error:
        kernel.give_up(error)
        return False


class _SecondCompiler:
    """A context in which the second process runs, where it is worth it; it has ended when the context has."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self._kernels = kernels
        self._pid = 0
        self._indices = -1

    def __enter__(self) -> "_SecondCompiler":
        if _MANY <= len(self._kernels) <= _MOST and len(os.sched_getaffinity(0)) > 1:
            with suppress(OSError):  # no process, or no descriptor: one compiler is enough
                self._start()
        return self

    def left(self) -> Iterator[int]:
        """The index of each kernel that the first is to compile; at the end the second has compiled its last."""
        if self._pid:
            yield from _taken(self._indices)
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        else:
            yield from range(len(self._kernels))

    def __exit__(self, *_: object) -> None:
        with DeferredSignals():
            if self._pid:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
            if self._indices >= 0:
                os.close(self._indices)

    def _start(self) -> None:
        first = os.getpid()
        with DeferredSignals():  # their handlers are the first's, which must know of the second by then
            self._indices, write_end = os.pipe()
            os.write(write_end, b"".join([at.to_bytes(_INDEX_BYTES, "little") for at in range(len(self._kernels))]))
            os.close(write_end)
            self._pid = os.fork()
            if self._pid == 0:
                self._compile_as_second(first)

    def _compile_as_second(self, first: int) -> NoReturn:
        try:
            die_with_parent(first)
            leave_to_launcher()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)  # of what fails the first will tell
            for at in _taken(self._indices):
                _make_ready(self._kernels[at])
        finally:
            os._exit(0)


def _taken(indices: int) -> Iterator[int]:
    while taken := os.read(indices, _INDEX_BYTES):
        yield int.from_bytes(taken, "little")
