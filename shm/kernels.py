"""Kernels: functions that numba compiles, and how they see columns and memory; nothing here knows shared memory or the
system.

A kernel with a signature is compiled (or loaded from the cache) when its module is imported, so before any fork, and
takes writable and read-only columns alike. One without is compiled for the types it is first called with.
"""

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from types import CodeType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

int64 = types.int64
boolean = types.boolean
void = types.void
COLUMN = types.Array(types.int64, 1, "C", readonly=True)
"""A contiguous int64 column, writable or not."""
WORDS = types.int64[::1]
"""A writable int64 array of one dimension."""
TABLE = types.int64[:, ::1]
"""A writable int64 array of two dimensions."""


def _has_file(function: Callable[..., Any]) -> bool:
    """Whether there is a file beside which the compiled code can be kept (there is none in a REPL)."""
    return not function.__code__.co_filename.startswith("<")


def _text(code: CodeType) -> str:
    """What a function's code says, functions within it included."""
    constants = [_text(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names}"


def _ingredients(function: Callable[..., Any]) -> list[str]:
    """What is compiled into a function besides its own code: the constants it names, and the kernels it calls with all
    that is in those."""
    found = [_text(function.__code__)]
    for name in sorted(function.__code__.co_names):
        value: Any = function.__globals__.get(name)
        if isinstance(value, int | float | tuple):
            found.append(f"{name}={value!r}")
        elif hasattr(value, "ingredients"):
            found.append(f"{name}:{value.ingredients}")
        elif hasattr(value, "_defn"):  # an intrinsic
            found.append(f"{name}:{_text(value._defn.__code__)}")
    return found


def _dispatcher(function: Callable[..., Any]) -> Any:
    """A dispatcher whose cache on disk notices every change to what is compiled in: numba looks only at the function's
    own file."""
    dispatcher = njit(cache=_has_file(function), error_model="numpy")(function)
    dispatcher.ingredients = blake2b("\n".join(_ingredients(function)).encode(), digest_size=16).hexdigest()
    if _has_file(function):
        file = dispatcher._cache._cache_file
        file._source_stamp = (file._source_stamp, dispatcher.ingredients)
    return dispatcher


def kernel(signature: Any) -> Any:
    """Decorator: compile a function without Python objects, cached on disk. `@kernel` or `@kernel(void(TABLE,
    COLUMN))`.
    """
    if callable(signature) and not hasattr(signature, "return_type"):
        return _dispatcher(signature)

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = _dispatcher(function)
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compiled


def kernel_for_columns(signature: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[[int], Any]]:
    """Decorator for a function of a tuple of columns: `function(n)` is then the kernel compiled for n of them.

    `signature(columns)` gives the kernel's signature for the tuple's type.
    """

    def for_count(function: Callable[..., Any]) -> Callable[[int], Any]:
        @cache
        def compiled(count: int) -> Any:
            return kernel(signature(types.UniTuple(COLUMN, count)))(function)

        return compiled

    return for_count


@intrinsic
def _as_pointer(typing: Any, address: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), emit


@kernel
def words_at(address, count):  # type: ignore[no-untyped-def]
    """A kernel's view of `count` int64 words at `address`; valid as long as their owner keeps them."""
    return carray(_as_pointer(address), (count,), np.int64)


@kernel
def bytes_at(address, count):  # type: ignore[no-untyped-def]
    """A kernel's view of `count` bytes at `address`; valid as long as their owner keeps them."""
    return carray(_as_pointer(address), (count,), np.uint8)


def address_of(array: np.ndarray, index: int = 0) -> int:
    """The byte address of word `index` of an int64 array."""
    return int(array.__array_interface__["data"][0]) + index * 8
