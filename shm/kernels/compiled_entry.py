"""What numba does for an entry: a C function of it, kept on disk."""

from collections.abc import Callable
from typing import Any

from numba.core.ccallback import CFunc

from tokenring.shm.kernels.callees import Callee
from tokenring.shm.kernels.compilation import OPTIONS, KernelCache, KernelCompiler, NotCached, cache_of


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

    compiled: Any = CFunc(guarded, (signature.args, signature.return_type), {}, OPTIONS, pipeline_class=KernelCompiler)
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
