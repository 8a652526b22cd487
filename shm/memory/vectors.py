"""Packing eight words at once, where the processor can (AVX-512): kernels ask `can_pack` first."""

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from tokenring.shm.kernels import CAN_PACK, is_for_any_processor

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_BYTES, _WORDS, _MASK = (ir.VectorType(kind, 8) for kind in (_BYTE, _WORD, ir.IntType(1)))
_ALIGNMENT = ir.Constant(ir.IntType(32), 8)


def _is_there() -> bool:
    """Whether kernels are compiled for a processor that packs."""
    if config.CPU_FEATURES is not None:
        return "+avx512f" in config.CPU_FEATURES.split(",")
    return bool(binding.get_host_cpu_features().get("avx512f", False))


@intrinsic
def can_pack(typing: Any) -> Any:
    """Whether `pack_eight` and `pack_rest` may be called: a constant of the code, of which the rest falls away."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not is_for_any_processor():
            return context.get_constant(types.boolean, _is_there())
        if CAN_PACK not in builder.module.globals:
            ir.GlobalVariable(builder.module, _BYTE, CAN_PACK).global_constant = True
        return builder.trunc(builder.load(builder.module.globals[CAN_PACK]), ir.IntType(1))

    return types.boolean(), emit


def _call(builder: Any, name: str, returns: Any, values: list[Any]) -> Any:
    """Call one of LLVM's own functions."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(returns, [value.type for value in values]), name)
    return builder.call(function, values)


def _first(builder: Any, count: Any) -> Any:
    """The mask of the first `count` lanes, of eight at most."""
    half = ir.IntType(16)
    one = ir.Constant(half, 1)
    bits = builder.sub(builder.shl(one, builder.trunc(count, half)), one)
    return builder.bitcast(builder.trunc(bits, _BYTE), _MASK)


def _is_owned(builder: Any, owners: Any, owner: Any) -> Any:
    """The mask of those of eight bytes at `owners` that are `owner`."""
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)
    nothing = ir.Constant(_BYTES, ir.Undefined)
    one = builder.insert_element(nothing, builder.trunc(owner, _BYTE), ir.Constant(ir.IntType(32), 0))
    read = builder.load(builder.inttoptr(owners, _BYTES.as_pointer()))
    read.align = 1
    return builder.icmp_unsigned("==", read, builder.shuffle_vector(one, nothing, lanes))


def _pack(builder: Any, target: Any, words: Any, chosen: Any) -> Any:
    """Write the chosen words at `target`, no byte behind them; how many there are."""
    zeros = ir.Constant(_WORDS, [0] * 8)
    packed = _call(builder, "llvm.x86.avx512.mask.compress.v8i64", _WORDS, [words, zeros, chosen])
    count = builder.zext(_call(builder, "llvm.ctpop.i8", _BYTE, [builder.bitcast(chosen, _BYTE)]), _WORD)
    pointer = builder.inttoptr(target, _WORDS.as_pointer())
    _call(
        builder, "llvm.masked.store.v8i64.p0", ir.VoidType(), [packed, pointer, _ALIGNMENT, _first(builder, count)]
    )
    return count


@intrinsic
def pack_eight(typing: Any, target: Any, origin: Any, owners: Any, owner: Any) -> Any:
    """Copy those of the eight words at `origin` to `target`, one after another, of which the byte at `owners` is
    `owner`; returns how many."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not (is_for_any_processor() or _is_there()):
            return ir.Constant(_WORD, 0)
        target, origin, owners, owner = args
        words = builder.load(builder.inttoptr(origin, _WORDS.as_pointer()))
        words.align = 8
        return _pack(builder, target, words, _is_owned(builder, owners, owner))

    return types.int64(types.int64, types.int64, types.int64, types.int64), emit


@intrinsic
def pack_rest(typing: Any, target: Any, origin: Any, owners: Any, owner: Any, words: Any) -> Any:
    """`pack_eight` of `words` words only: nothing behind them is read, but eight bytes at `owners` are."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not (is_for_any_processor() or _is_there()):
            return ir.Constant(_WORD, 0)
        target, origin, owners, owner, count = args
        chosen = builder.and_(_is_owned(builder, owners, owner), _first(builder, count))
        pointer = builder.inttoptr(origin, _WORDS.as_pointer())
        zeros = ir.Constant(_WORDS, [0] * 8)
        words = _call(builder, "llvm.masked.load.v8i64.p0", _WORDS, [pointer, _ALIGNMENT, chosen, zeros])
        return _pack(builder, target, words, chosen)

    return types.int64(types.int64, types.int64, types.int64, types.int64, types.int64), emit
