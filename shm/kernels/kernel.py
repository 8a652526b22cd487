"""Kernels: functions that numba compiles, and how they see columns and memory; nothing here knows shared memory or the
system.

Declaring a kernel compiles nothing. The launcher makes ready all that are declared before it forks, from the cache
where it can; elsewhere a kernel is made ready by its first call. No worker compiles one that was declared before.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, NoReturn, TypeVar, overload
from weakref import WeakSet

import numpy as np

from tokenring.shm.errors import KernelError, KernelInWorkerWarning
from tokenring.shm.kernels.signatures import COLUMN, Signature, Type, resolved, tuple_of

F = TypeVar("F", bound=Callable[..., Any])
signed: Any = np.int64
unsigned: Any = np.uint64
"""In a kernel: a number as int64, as uint64. To type checkers it is whatever it is used as."""
COLUMNS_COMPILED = 8
"""A kernel for columns is compiled ahead for up to so many."""

COME_WITH_NUMBA: list[str] = []
"""Modules that are imported when numba is: for those that know what this one must not."""

_LIBRARY = "tokenring.shm.kernels.library"  # imported when the first kernel is needed: it knows files

_waiting: "WeakSet[Kernel]" = WeakSet()
_for_columns: "WeakSet[_ForColumns]" = WeakSet()
_worker: int | None = None


class Kernel:
    """A function without Python objects, compiled for one signature, or (without one) for whatever types it is called
    with: those are for other kernels to call, and for processes that may compile.

    Once it is ready, a call goes straight to numba's dispatcher: `__call__` is a slot of the instance.
    """

    __slots__ = (
        *("__call__", "__dict__", "__weakref__"),
        *("_callee", "_dispatcher", "_is_late", "_is_ready", "failure", "py_func", "signature"),
    )

    def __init__(self, function: Callable[..., Any], signature: Any = None) -> None:
        if not isinstance(function, FunctionType):
            raise KernelError(f"{function!r} is no function that can be compiled: decorate one written with def")
        self.py_func = function
        self.signature = signature
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.__dict__.update(__name__=function.__name__, __module__=function.__module__, __doc__=function.__doc__)
        self._callee: Any = None
        self._dispatcher: Any = None
        self._is_ready = False
        self._is_late = _worker is not None  # declared after the fork
        self.failure: Exception | None = None
        """Why it was given up: it cannot be compiled, and only who calls it is to hear of that."""
        self.__call__ = self._first_call if signature is not None else self._call_for_types
        if signature is not None:
            _waiting.add(self)

    def make_ready(self, only_load: bool = False) -> bool:
        """Take it out of the library, compile it, or load it from the cache; with `only_load`, False if it would have
        to be compiled."""
        if self._is_ready or self._is_in_library():
            return True
        self.numba_comes()
        from tokenring.shm.kernels.compilation import compile_for, dispatcher_of

        if self._dispatcher is None:
            self._dispatcher = dispatcher_of(self.py_func)
        if self.signature is None:
            return True
        with self._in_one_line():
            if not compile_for(self._dispatcher, resolved(self.signature), only_load):
                return False
        self._dispatcher._explain_matching_error = self._refuse
        self.is_ready_as(self._dispatcher)
        return True

    @property
    def _said(self) -> str:
        """What errors call it, with the place where it stands."""
        code = self.py_func.__code__
        return f"kernel {self.name} ({code.co_filename}:{code.co_firstlineno})"

    @contextmanager
    def _in_one_line(self) -> Iterator[None]:
        """Within the block, what numba raises becomes a KernelError."""
        try:
            yield
        except Exception as error:  # numba's own, and what its inner parts let through
            why = in_short(error)
        else:
            return
        raise KernelError(f"{self._said} cannot be compiled: {why}")

    def _refuse(self, *arguments: Any) -> NoReturn:
        """Numba calls it where arguments are not what the signature says."""
        takes = ", ".join(map(str, self._dispatcher.nopython_signatures[0].args))
        came = ", ".join([str(self._dispatcher.typeof_pyval(argument)) for argument in arguments])
        raise KernelError(f"{self._said} takes ({takes}), and is called with ({came}); convert what it gets")

    def give_up(self, failure: Exception) -> None:
        """It cannot be made ready, and is not to be tried again with all that are declared."""
        self.failure = failure
        _waiting.discard(self)

    def _is_in_library(self) -> bool:
        """Whether the library that came with the package has it; it is ready then."""
        found = None
        if self.signature is not None:
            library = import_module(_LIBRARY).library()[0]
            found = library.find(self) if library is not None else None
        if found is None:
            return False
        self.is_ready_as(found)
        return True

    def address_in_library(self) -> int:
        """Where an entry is that the library has."""
        return int(import_module(_LIBRARY).library()[0].address(self))

    def is_ready_as(self, compiled: Callable[..., Any]) -> None:
        """Let calls go straight to what was compiled."""
        self._is_ready = True
        _waiting.discard(self)
        self.__call__ = compiled

    def original(self) -> Any:
        """Numba's dispatcher, which is what other kernels call."""
        if self.signature is not None:
            self.make_ready()
            if self._dispatcher is not None:
                return self._dispatcher
        if self._callee is None:
            self.numba_comes()
            from tokenring.shm.kernels.callees import Callee

            self._callee = Callee(self.py_func)
            if self.signature is not None:
                self._callee.compile(resolved(self.signature))
                self._callee.disable_compile()
        return self._callee

    def _first_call(self, *arguments: Any) -> Any:
        if not self._is_in_library():
            self.check_may_compile("call it before `execute`, or declare it with its module")
            self.make_ready()
        return self.__call__(*arguments)

    def _call_for_types(self, *arguments: Any) -> Any:
        self.check_may_compile("it has no signature: give it one, as in `@kernel(int64(int64, COLUMN))`")
        self.make_ready()
        return self._dispatcher(*arguments)

    def check_may_compile(self, cure: str) -> None:
        """KernelError, or a warning, in a worker; of one that was given up its failure."""
        if _worker is None:
            return
        if self.failure is not None:
            raise self.failure
        if not self._is_late:
            raise KernelError(f"worker {_worker}: kernel {self.name} is not compiled, and no worker compiles: {cure}")
        warnings.warn(
            f"worker {_worker} compiles kernel {self.name}, which was declared, or imported, in it; all workers do so, "
            "each for itself. Declare it, or import its module, before `execute`",
            KernelInWorkerWarning,
            stacklevel=3,
        )

    def numba_comes(self) -> None:
        """The first kernel is to be compiled: tell numba what our objects stand for. KernelError if it is not there."""
        try:
            numba_comes()
        except ModuleNotFoundError as error:
            if error.name != "numba":
                raise
            from tokenring.how_to_install import how_to_install

            found, why = import_module(_LIBRARY).library()
            if found is not None:
                why = "its sources are not those that the library was made of"
            raise KernelError(
                f"kernel {self.name} is not in the library of kernels that came with tokenring, and numba, which would "
                f"compile it, is not installed: {how_to_install('kernels')} ({why})"
            ) from None

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def in_short(error: Exception) -> str:
    """What numba says of what it cannot compile, without where in numba it says so."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Failed in nopython mode")] or [type(error).__name__]
    said = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    is_plain = "Cannot determine Numba type of <class 'function'>" in said
    return said + "; decorate that function with @tr.kernel" * is_plain


class Later:
    """Something that kernels name, to be found when the first of them is compiled: it needs numba."""

    __slots__ = ("_module", "_name")

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def original(self) -> Any:
        """What it stands for."""
        return getattr(import_module(self._module), self._name)


STAND_FOR: dict[type, Callable[[Any], Any]] = {Kernel: Kernel.original, Later: Later.original, Type: Type.resolve}
"""What objects of ours are to numba, by their type."""


@cache
def numba_comes() -> None:
    """Tell numba what our objects stand for."""
    from tokenring.shm.kernels.compilation import stand_for

    for module in COME_WITH_NUMBA:
        import_module(module)
    for kind, original in STAND_FOR.items():
        stand_for(kind, original)


class _ForColumns:
    """Kernels of one function, a kernel for each number of columns."""

    def __init__(self, function: Callable[..., Any], signature: Callable[[Type], Any]) -> None:
        self._function = function
        self._signature = signature
        self._kernels: dict[int, Kernel] = {}
        _for_columns.add(self)

    def __call__(self, count: int) -> Kernel:
        found = self._kernels.get(count)
        if found is None:
            found = self._kernels[count] = Kernel(self._function, self._signature(tuple_of(COLUMN, count)))
        return found


@overload
def kernel(signature: F) -> F: ...
@overload
def kernel(signature: Signature) -> Callable[[F], F]: ...
def kernel(signature: Any) -> Any:
    """Decorator: a function without Python objects, compiled once and cached on disk. `@kernel` or `@kernel(void(TABLE,
    COLUMN))`.
    """
    if isinstance(signature, FunctionType):
        return Kernel(signature)
    return lambda function: Kernel(function, signature)


def kernel_for_columns(signature: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[[int], Any]]:
    """Decorator for a function of a tuple of columns: `function(n)` is then the kernel compiled for n of them.

    `signature(columns)` gives the kernel's signature for the tuple's type.
    """
    return lambda function: _ForColumns(function, signature)


def kernels_to_make_ready() -> list[Kernel]:
    """All kernels declared so far that are not ready, nor given up, in the order of their names."""
    for family in list(_for_columns):
        for count in range(1, COLUMNS_COMPILED + 1):
            family(count)
    return sorted(_waiting, key=lambda waiting: (waiting.name, str(waiting.signature)))


def forbid_compilation(worker: int) -> None:
    """From now on this process is a worker: it compiles no kernel that was declared before."""
    global _worker
    _worker = worker
