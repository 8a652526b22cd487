"""What numba does for an entry: a C function of it, kept on disk."""

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.ccallback import CFunc
from numba.core.registry import cpu_target
from numba.core.types.misc import unliteral

from tokenring.shm.kernels.callees import Callee
from tokenring.shm.kernels.compilation import OPTIONS, KernelCache, KernelCompiler, NotCached, cache_of


class _EntryFunction(CFunc):
    """Numba's C function around `inner`, which is to return an integer: numba cuts a float to one."""

    def __init__(self, inner: Callee, function: Callable[[int, int], int], signature: Any) -> None:
        words = signature.args, signature.return_type
        super().__init__(function, words, {}, OPTIONS, pipeline_class=KernelCompiler)
        self._inner = inner
        self._takes = signature.args

    def _compile_uncached(self) -> Any:
        call: Any = types.Dispatcher(self._inner).get_call_type(cpu_target.typing_context, self._takes, {})
        if not isinstance(call.return_type, types.Integer | types.Boolean):
            raise TypeError(f"it returns {unliteral(call.return_type)}; let it return an integer")
        return super()._compile_uncached()  # type: ignore[misc]


def compile_entry(function: Callable[..., Any], signature: Any, raised: int, only_load: bool) -> Any:
    """The compiled C function (its `address`, its `ctypes`), loaded from the cache where it can be; None with
    `only_load` if it would have to be compiled. It returns `raised` where the function raises: numba's own C functions
    say that on stderr, and return 0."""
    inner = Callee(function, is_kept=False)

    def guarded(first: int, second: int) -> int:
        try:
            return inner(first, second)
        except Exception:
            return raised

    compiled: Any = _EntryFunction(inner, guarded, signature)
    cache = cache_of(function, more=f" or {raised}")
    if cache is not None:
        compiled._cache = cache
    if only_load and not isinstance(compiled._cache, KernelCache):
        return None
    KernelCache.only_load = only_load
    try:
        compiled.compile()
    except NotCached:
        return None
    finally:
        KernelCache.only_load = False
    return compiled
