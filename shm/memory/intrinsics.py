"""Atomic 64-bit words by address, as LLVM's instructions: the one file that knows memory ordering.

Every function takes the byte address of an 8-byte aligned word. Orders follow LLVM (and C++11): `load_acquire` pairs
with `store_release`; `fetch_add`, `fetch_or`, `fetch_and` and `compare_exchange` are sequentially consistent; `fence`
is a full fence. LLVM emits the right instructions on x86-64 (plain moves, lock prefixes, mfence) and aarch64 (ldar,
stlr, LSE or ll/sc, dmb).
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tokenring.shm.memory.layout import WORD_BYTES


@intrinsic
def as_pointer(typing: Any, address: Any) -> Any:
    """The address as a pointer, for `carray`."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), emit


def _word_pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, ir.IntType(64).as_pointer())


@intrinsic
def load_acquire(typing: Any, address: Any) -> Any:
    """Read the word at `address`; what its writer wrote before its release is visible afterwards."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_word_pointer(builder, args[0]), "acquire", WORD_BYTES)

    return types.int64(types.int64), emit


@intrinsic
def store_release(typing: Any, address: Any, value: Any) -> Any:
    """Write the word at `address`; everything written before is visible to whoever acquires it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], _word_pointer(builder, args[0]), "release", WORD_BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@intrinsic
def fetch_add(typing: Any, address: Any, value: Any) -> Any:
    """Add `value` to the word and return what it was before (sequentially consistent)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _word_pointer(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), emit


@intrinsic
def fetch_or(typing: Any, address: Any, bits: Any) -> Any:
    """Set `bits` in the word and return what it was before (sequentially consistent)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("or", _word_pointer(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), emit


@intrinsic
def fetch_and(typing: Any, address: Any, bits: Any) -> Any:
    """Clear all but `bits` in the word and return what it was before (sequentially consistent)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("and", _word_pointer(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), emit


@intrinsic
def compare_exchange(typing: Any, address: Any, expected: Any, value: Any) -> Any:
    """Write `value` if the word is `expected`; return what the word was (sequentially consistent)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pair = builder.cmpxchg(_word_pointer(builder, args[0]), args[1], args[2], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 0)

    return types.int64(types.int64, types.int64, types.int64), emit


@intrinsic
def fence(typing: Any) -> Any:
    """Order every access before against every access after, stores against later loads included."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def load_word(typing: Any, address: Any) -> Any:
    """Read the word at `address` without any order: only for words made visible by an acquire, or our own."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_word_pointer(builder, args[0]), align=WORD_BYTES)

    return types.int64(types.int64), emit


@intrinsic
def store_word(typing: Any, address: Any, value: Any) -> Any:
    """Write the word at `address` without any order: to be published by a later release."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], _word_pointer(builder, args[0]), align=WORD_BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit
