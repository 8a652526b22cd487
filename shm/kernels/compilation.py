"""What numba does for a kernel: compiles it, keeps it on disk, and loads it again.

Imported when the first kernel is needed, since importing numba takes longer than importing all of ours.
"""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from typing import Any, ClassVar

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.compiler import Compiler
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.imputils import lower_cast
from numba.core.registry import cpu_target
from numba.core.types import Array, NestedArray
from numba.extending import typeof_impl

from tokenring.shm.errors import KernelCacheWarning
from tokenring.shm.kernels.ingredients import ingredients
from tokenring.shm.kernels.loaded_library import LoadedLibrary
from tokenring.shm.stamp_words import FEWEST, STAMP_WORDS

OPTIONS = {"error_model": "numpy"}
"""Of every kernel."""


@lower_cast(NestedArray, Array)
def _room_as_array(context: Any, builder: Any, room: Any, array: Any, value: Any) -> Any:
    """The words of a record's room, where a kernel takes words: numba types that, and forgets to say how."""
    return value


class NotCached(Exception):
    """A kernel that was only to be loaded has to be compiled."""


class KernelFiles(CompileResultCacheImpl):  # type: ignore[misc]
    """Where numba keeps a function: in NUMBA_CACHE_DIR, beside its source, below the user's home, and where else those
    say that are imported with numba.

    Numba keeps the stamp of what was compiled in its index alone, and two processes may have other sources, of which
    one began before they were changed: what the index of one names may by then be the other's. So the code bears it.
    """

    _locator_classes: ClassVar[list[type]] = list(CompileResultCacheImpl._locator_classes)
    stamp: Any = None

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Of a function's files: those for other times have names of their own, so that neither drives the others out.
        """
        base: str = super().get_filename_base(fullname, abiflags)
        return base if STAMP_WORDS == FEWEST else f"{base}-{STAMP_WORDS}"

    def reduce(self, data: Any) -> Any:
        """What is kept of what numba has compiled."""
        return self.stamp, super().reduce(data)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """What was kept, as numba has it when it has compiled. NotCached if it was made of other sources."""
        stamp, kept = payload
        if stamp != self.stamp:
            raise NotCached
        return self.rebuilt(target_context, kept)

    def rebuilt(self, target_context: Any, kept: Any) -> Any:
        """The same of code that is ours."""
        codegen = target_context.codegen()
        before, codegen._library_class = codegen._library_class, LoadedLibrary
        try:
            return super().rebuild(target_context, kept)
        finally:
            codegen._library_class = before


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, but for four things: it notices every change to what is compiled in, not only to
    the function's own file; what is damaged counts as not there; and what cannot be written is told, once. What stands
    beside the source is read though it cannot be written there: an image's, say, which root has made.
    """

    _impl_class = KernelFiles
    only_load = False
    """Whether to raise NotCached where numba would go on to compile."""
    is_fresh = False
    """Whether numba has looked for all that it knows, as it would for each function that it loads."""
    held: Callable[[str], AbstractContextManager[Any]] = nullcontext
    """Holds a folder against other processes: shm/kernels/cache_folders.py says how."""
    beside: Callable[[str], str] = lambda _: ""
    """The folder beside a source file, if what is there may be read: shm/kernels/cache_folders.py says when."""

    def __init__(self, function: Callable[..., Any], ingredients: str) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = self._impl.stamp = stamp = (self._cache_file._source_stamp, ingredients)
        beside = KernelCache.beside(function.__code__.co_filename)
        self._beside = None
        if beside not in ("", self._cache_path):
            self._beside = IndexDataCacheFile(beside, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, None if it is not there."""
        try:
            if KernelCache.is_fresh:
                with self._guard_against_spurious_io_errors():
                    found = self._load_overload(sig, target_context)
            else:
                found = super().load_overload(sig, target_context)
                KernelCache.is_fresh = True
        except Exception:  # of an unpickler or of LLVM, whatever they find
            found = None
            with suppress(OSError):
                self.flush()
        if found is None and KernelCache.only_load:
            raise NotCached
        return found

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context)
        if found is None and self._beside is not None:
            with suppress(OSError):
                data = self._beside.load(self._index_key(sig, target_context.codegen()))
                found = data and self._impl.rebuild(target_context, data)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function. One process at a time: each reads what is there, and gives its own another number.
        """
        try:
            with KernelCache.held(self._cache_path):
                super().save_overload(sig, data)
        except OSError as error:
            _warn_of_cache(str(error))


class QuietCompiler(Compiler):  # type: ignore[misc]
    """Numba's, which warns of each record that it sees to begin as another does: those that inherit from one do."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)
            return super().compile_extra(func)


class KernelCompiler(QuietCompiler):
    """Numba's compiler, for what gets machine code."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile, and say where the environments are of all that was compiled in: callees have no place for theirs."""
        result = super().compile_extra(func)
        result.library._ensure_finalized()  # an entry's is not yet
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
        return result


@cache
def _warn_of_cache(reason: str) -> None:
    warnings.warn(
        f"compiled kernels cannot be kept, so each start compiles them again ({reason}); "
        "name a folder that can be written in NUMBA_CACHE_DIR",
        KernelCacheWarning,
        stacklevel=2,
    )


def dispatcher_of(function: Callable[..., Any]) -> Any:
    """Numba's dispatcher of a function. Nothing is compiled yet."""
    dispatcher = njit(**OPTIONS, pipeline_class=KernelCompiler)(function)
    cache = cache_of(function)
    if cache is not None:
        dispatcher._cache = cache
    return dispatcher


def cache_of(
    function: Callable[..., Any], kind: type[KernelCache] = KernelCache, more: str = ""
) -> KernelCache | None:
    """The cache of a function, with `more` that is compiled in; None if it cannot be kept."""
    if has_file(function):
        try:
            return kind(function, ingredients(function) + more)
        except RuntimeError:  # numba found no folder that it may write
            _warn_of_cache("no folder for them can be written")
    return None


def has_file(function: Callable[..., Any]) -> bool:
    """Whether there is a file beside which the compiled code can be kept (there is none in a REPL)."""
    return not function.__code__.co_filename.startswith("<")


def compile_for(dispatcher: Any, signature: Any, only_load: bool) -> bool:
    """Load the compiled function from the cache, or compile it; `only_load`: False if it would have to be compiled."""
    if only_load and not isinstance(dispatcher._cache, KernelCache):
        return False
    KernelCache.only_load = only_load
    try:
        if dispatcher._can_compile:  # not if a signal came before the last call's end was noted
            dispatcher.compile(signature)
    except NotCached:
        return False
    finally:
        KernelCache.only_load = False
    dispatcher.disable_compile()
    return True


def stand_for(placeholder: type, original: Callable[[Any], Any]) -> None:
    """Where a kernel names an object of a class of ours, numba is to see `original(object)`."""

    @typeof_impl.register(placeholder)
    def typeof_placeholder(value: Any, context: Any) -> Any:
        return cpu_target.typing_context.resolve_value_type(original(value))
