"""Entries: kernels that are called by their address, as C functions are: a table of words can say who is called."""

from collections.abc import Callable
from typing import Any

from tokenring.shm.kernels.kernel import Kernel
from tokenring.shm.kernels.signatures import int64, resolved

LOGIC = int64(int64, int64)
"""The one signature of what is called by address."""
RAISED = 3
"""What an entry returns that raised."""


class Entry(Kernel):
    """A function of two words that returns one, compiled as a C function. Kernels call it with `call_at(address, …)`;
    they cannot name it.
    """

    __slots__ = ("_compiled",)

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, LOGIC)
        self._compiled: Any = None

    def make_ready(self, only_load: bool = False) -> bool:
        """As a kernel's."""
        if self._is_ready or self._is_in_library():
            return True
        if self._compiled is None:
            self.numba_comes()
            from tokenring.shm.kernels.compiled_entry import compile_entry

            with self._in_one_line():
                self._compiled = compile_entry(self.py_func, resolved(self.signature), RAISED, only_load)
            if self._compiled is None:
                return False
            self.is_ready_as(self._compiled.ctypes)
        return True

    @property
    def address(self) -> int:
        """Where it is, in this process and in those that are forked from it."""
        if not self._is_ready and not self._is_in_library():
            self.check_may_compile("call it before `execute`, or declare it with its module")
            self.make_ready()
        return int(self._compiled.address) if self._compiled is not None else self.address_in_library()

    def original(self) -> Any:
        """Nothing: no kernel can name it."""
        raise TypeError(f"{self!r} is called by its address: write call_at(address, world, me)")


def entry(function: Callable[..., Any]) -> Entry:
    """Decorator: an entry of a function `(int64, int64) -> int64`; another one is a KernelError where it is
    compiled. Where it raises, RAISED is returned, and what it said is lost."""
    return Entry(function)
