"""What kernels call that is no kernel, as LLVM's calls: C functions by their address, and a few of the C library's."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def call_at(typing: Any, address: Any, first: Any, second: Any) -> Any:
    """Call the C function `int64(int64, int64)` at `address` (see `shm.kernels.entry`)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(args[0], ir.FunctionType(word, [word, word]).as_pointer())
        return builder.call(function, [args[1], args[2]])

    return types.int64(types.int64, types.int64, types.int64), emit


def _libc(builder: Any, name: str, returns: Any, takes: list[Any]) -> Any:
    """A function of the C library, which is in every process."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(returns, takes), name)


_MADV_DONTNEED, _MADV_HUGEPAGE = 4, 14
_HUGE_PAGE_BYTES = 1 << 21
_MANY_BYTES = 1 << 24  # which are a mapping of their own, gone when they are freed (`keep_little`)


def _madvise(builder: Any, address: Any, size_bytes: Any, advice: int) -> None:
    """Tell the system what is to be done with bytes; that it does otherwise, or cannot, is no error."""
    pointer, half = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = _libc(builder, "madvise", half, [pointer, ir.IntType(64), half])
    builder.call(function, [builder.inttoptr(address, pointer), size_bytes, ir.Constant(half, advice)])


@intrinsic
def allocate(typing: Any, size_bytes: Any) -> Any:
    """The address of so many new bytes, whatever is in them; 0 if there are none. `deallocate` ends it. Many are to be
    in huge pages, where the system has some: a block that is filled once and freed costs little but its pages."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        pointer = builder.call(_libc(builder, "malloc", ir.IntType(8).as_pointer(), [word]), args)
        address, size = builder.ptrtoint(pointer, word), args[0]
        with builder.if_then(builder.icmp_unsigned(">=", size, ir.Constant(word, _MANY_BYTES)), likely=False):
            whole, behind = ir.Constant(word, -_HUGE_PAGE_BYTES), ir.Constant(word, _HUGE_PAGE_BYTES - 1)
            first = builder.and_(builder.add(address, behind), whole)
            last = builder.and_(builder.add(address, size), whole)
            _madvise(builder, first, builder.sub(last, first), _MADV_HUGEPAGE)
        return address

    return types.int64(types.int64), emit


@intrinsic
def deallocate(typing: Any, address: Any) -> Any:
    """Give back what `allocate` gave."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        builder.call(_libc(builder, "free", ir.VoidType(), [pointer]), [builder.inttoptr(args[0], pointer)])
        return context.get_dummy_value()

    return types.void(types.int64), emit


@intrinsic
def copy_bytes(typing: Any, target: Any, origin: Any, size_bytes: Any) -> Any:
    """Copy bytes from one address to another; the ranges do not overlap. Of a constant number of them, a few, the
    processor copies them itself, and nothing is called."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function = _libc(builder, "memcpy", pointer, [pointer, pointer, ir.IntType(64)])
        builder.call(function, [builder.inttoptr(args[0], pointer), builder.inttoptr(args[1], pointer), args[2]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), emit


@intrinsic
def forget_bytes(typing: Any, address: Any, size_bytes: Any) -> Any:
    """Give back the memory of bytes from an address on, the first of a page's, which are zeros when they are read next.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _madvise(builder, args[0], args[1], _MADV_DONTNEED)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@intrinsic
def reserve_in_file(typing: Any, file: Any, offset: Any, size_bytes: Any) -> Any:
    """Have room on the disk for bytes of an open file: 0, or an error's number (posix_fallocate)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, half = ir.IntType(64), ir.IntType(32)
        function = _libc(builder, "posix_fallocate", half, [half, word, word])
        return builder.sext(builder.call(function, [builder.trunc(args[0], half), args[1], args[2]]), word)

    return types.int64(types.int64, types.int64, types.int64), emit


_READ_AND_WRITE, _MAP_SHARED = 3, 1


@intrinsic
def map_file(typing: Any, file: Any, offset: Any, size_bytes: Any) -> Any:
    """The address at which bytes of an open file are read and written to, which the system writes out and lets go when
    memory is short; below 0 if there is none. `unmap` ends it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, half, pointer = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
        function = _libc(builder, "mmap", pointer, [pointer, word, half, half, half, word])
        how = ir.Constant(half, _READ_AND_WRITE), ir.Constant(half, _MAP_SHARED)
        anywhere = ir.Constant(pointer, None)
        found = builder.call(function, [anywhere, args[2], *how, builder.trunc(args[0], half), args[1]])
        return builder.ptrtoint(found, word)

    return types.int64(types.int64, types.int64, types.int64), emit


@intrinsic
def unmap(typing: Any, address: Any, size_bytes: Any) -> Any:
    """Give back what `map_file` or `map_memory` gave."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function = _libc(builder, "munmap", ir.IntType(32), [pointer, ir.IntType(64)])
        builder.call(function, [builder.inttoptr(args[0], pointer), args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


_MAP_PRIVATE_AND_ANONYMOUS = 0x22


@intrinsic
def map_memory(typing: Any, size_bytes: Any) -> Any:
    """The address of so many bytes, zeros, in pages of their own, which `unmap` gives back to the system at once; below
    0 if there are none."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, half, pointer = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
        function = _libc(builder, "mmap", pointer, [pointer, word, half, half, half, word])
        how = ir.Constant(half, _READ_AND_WRITE), ir.Constant(half, _MAP_PRIVATE_AND_ANONYMOUS)
        anywhere, no_file = ir.Constant(pointer, None), ir.Constant(half, -1)
        found = builder.call(function, [anywhere, args[0], *how, no_file, ir.Constant(word, 0)])
        return builder.ptrtoint(found, word)

    return types.int64(types.int64), emit


@intrinsic
def load_unaligned(typing: Any, address: Any) -> Any:
    """The word of eight bytes from any address on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), align=1)

    return types.int64(types.int64), emit


@intrinsic
def store_unaligned(typing: Any, address: Any, word: Any) -> Any:
    """Write a word to eight bytes from any address on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


_KEEP_SIZE_AND_PUNCH_HOLE = 3


@intrinsic
def release_in_file(typing: Any, file: Any, offset: Any, size_bytes: Any) -> Any:
    """Give back the room on the disk of bytes of an open file, where its file system can."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, half = ir.IntType(64), ir.IntType(32)
        function = _libc(builder, "fallocate", half, [half, half, word, word])
        how = ir.Constant(half, _KEEP_SIZE_AND_PUNCH_HOLE)
        builder.call(function, [builder.trunc(args[0], half), how, args[1], args[2]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), emit


@intrinsic
def prefetch(typing: Any, address: Any) -> Any:
    """Have the cache line at `address` on its way from memory; whatever the address, nothing else happens."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, half = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, half, half, half])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, all_levels, data = ir.Constant(half, 0), ir.Constant(half, 3), ir.Constant(half, 1)
        builder.call(function, [builder.inttoptr(args[0], pointer), read, all_levels, data])
        return context.get_dummy_value()

    return types.void(types.int64), emit


_REALTIME, _MONOTONIC = 0, 1  # CLOCK_REALTIME, CLOCK_MONOTONIC: Python's time.time_ns and time.monotonic_ns


def _clock_ns(context: Any, builder: Any, clock: int) -> Any:
    """What a clock says, in ns."""
    word = ir.IntType(64)
    both = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
    function = _libc(builder, "clock_gettime", ir.IntType(32), [ir.IntType(32), ir.IntType(8).as_pointer()])
    builder.call(function, [ir.Constant(ir.IntType(32), clock), builder.bitcast(both, ir.IntType(8).as_pointer())])
    seconds, rest = builder.extract_value(builder.load(both), 0), builder.extract_value(builder.load(both), 1)
    return builder.add(builder.mul(seconds, ir.Constant(word, 1_000_000_000)), rest)


@intrinsic
def monotonic_now_ns(typing: Any) -> Any:
    """The monotonic clock in ns: what time.monotonic_ns says. Some 20 ns."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _clock_ns(context, builder, _MONOTONIC)

    return types.int64(), emit


@intrinsic
def wall_now_ns(typing: Any) -> Any:
    """The clock on the wall, in ns since 1970: what time.time_ns says. Some 20 ns."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _clock_ns(context, builder, _REALTIME)

    return types.int64(), emit
