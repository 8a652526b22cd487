"""What numba does for a kernel that only kernels call: LLVM's code, for them to take in, and none of the machine's.

Numba by itself would optimise each with all that it calls, write machine code for it and a way into it from Python, and
do so once more for every literal that it is called with. All that is done once, in the kernel that Python calls.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.types.misc import unliteral

from tokenring.shm.kernels.compilation import OPTIONS, KernelCache, KernelFiles, QuietCompiler, cache_of


class _Nowhere:
    """The code generator that a callee's library names: it has no place in memory, so none for an environment. That is
    set where machine code is made, see `KernelCompiler`."""

    def set_env(self, name: str, environment: Any) -> None: ...

    def unserialize_library(self, kept: tuple[str, str, bytes]) -> "CalleeLibrary":
        name, _, bitcode = kept
        return CalleeLibrary.loaded(name, bitcode)


class CalleeLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a callee and of what it calls, to be linked into others and optimised there."""

    codegen = _Nowhere()

    @classmethod
    def loaded(cls, name: str, bitcode: bytes) -> "CalleeLibrary":
        """The library that was kept as this bitcode."""
        library = cls(CPUDispatcher.targetdescr.target_context.codegen(), name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        return self.serialize_using_bitcode()

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _CalleeCompiler(QuietCompiler):
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *more: Any) -> None:
        super().__init__(typingctx, targetctx, CalleeLibrary(targetctx.codegen(), "callee"), *more)


class _CalleeFiles(KernelFiles):
    def rebuilt(self, target_context: Any, kept: Any) -> Any:
        return CompileResult._rebuild(target_context.subtarget(_internal_codegen=CalleeLibrary.codegen), *kept)


class _CalleeCache(KernelCache):
    _impl_class = _CalleeFiles

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return ("callee", *super()._index_key(sig, codegen))


class Callee(CPUDispatcher):  # type: ignore[misc]
    """Numba's dispatcher of a function that kernels call: compiled for types, not for the literals of a call."""

    compiler: type[Compiler] = _CalleeCompiler

    def __init__(self, function: Callable[..., Any], is_kept: bool = True) -> None:
        options = OPTIONS | {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, {}, options, self.compiler)
        cache = cache_of(function, _CalleeCache) if is_kept else None
        if cache is not None:
            self._cache = cache

    def get_call_template(self, args: Sequence[Any], kws: dict[str, Any]) -> Any:
        return super().get_call_template(
            tuple(map(unliteral, args)), {name: unliteral(given) for name, given in kws.items()}
        )
