"""Threads of this process that a fork does not copy, and what becomes of who needs them in a worker.

Polars has one pool of threads for all it computes, made when it is first used. In a process that is forked later it
waits for them for ever, within a call that nothing can end. So there its frames say that they cannot be used, but to
hand over their rows.
"""

import ctypes
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

from tokenring.engine.errors import UsageError

_NEEDED, _PAUSE_S = ("pyarrow", "tokenring"), 0.001
_ALLOWED = 1  # faulthandler's, which waits for a time-out
_ARROW_POOLS = ("_ZN5arrow8internal16GetCpuThreadPoolEv", "_ZN5arrow2io8internal15GetIOThreadPoolEv")
_ARROW_BESIDES = 4
_ARROW_COUNT = "_ZN5arrow8internal10ThreadPool17GetActualCapacityEv"
_POLARS, _INSIDE = "polars", "polars."
_POLARS_POOL = ("polars-", "async-executor", "tokio-rt-worker")
_POLARS_IDLE = "polars-ooc"  # there from the import on; nobody waits for it
_FRAMES = {
    "DataFrame": frozenset({"columns", "dtypes", "height", "schema", "shape", "width"}),
    "LazyFrame": frozenset(),
    "Series": frozenset({"dtype", "name", "shape"}),
}
"""The classes that compute, and what they have at hand, which gives threads no work."""


def has_polars_pool() -> bool:
    """Whether Polars has threads in this process, which those that are forked from it will lack."""
    return _POLARS in sys.modules and any(
        name.startswith(_POLARS_POOL) and not name.startswith(_POLARS_IDLE) for name in _names_of_others()
    )


def refuse_polars() -> None:
    """In a process that was forked from one with Polars' threads: whatever would wait for them is a UsageError."""
    polars = sys.modules[_POLARS]
    for name, at_hand in _FRAMES.items():
        frames = getattr(polars, name)
        frames.__init__ = _refusing(f"{name}(...)")
        frames.__getattribute__ = _having(name, at_hand)
    polars.DataFrame.__arrow_c_stream__ = _by_column
    for module in [polars, *[each for name, each in sys.modules.items() if not name.startswith(_INSIDE)]]:
        there = vars(module)
        for name in [name for name, value in there.items() if type(value) is FunctionType and _is_of_polars(value)]:
            setattr(module, name, _refusing(f"polars.{there[name].__name__}"))


def _is_of_polars(function: FunctionType) -> bool:
    return (function.__module__ or "").startswith(_INSIDE)


def _by_column(frame: Any, requested_schema: Any = None) -> Any:
    """A frame as Arrow's stream; its own way has threads make one piece of each column first, if they are several."""
    import pyarrow as pa

    columns = [pa.chunked_array(series) for series in object.__getattribute__(frame, "get_columns")()]
    return pa.table(columns, names=frame.columns).__arrow_c_stream__(requested_schema)


def _having(of: str, at_hand: frozenset[str]) -> Callable[[Any, str], Any]:
    inner = "__" if of == "LazyFrame" else "_"  # a lazy one has nothing but work in it

    def attribute(self: Any, name: str) -> Any:
        if not (name in at_hand or name.startswith(inner)):
            _refuse(f"{of}.{name}")
        return object.__getattribute__(self, name)

    return attribute


def _refusing(called: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **keywords: Any) -> NoReturn:
        _refuse(called)

    return refuse


def _refuse(what: str) -> NoReturn:
    raise UsageError(
        f"{what}: polars was used before this worker was forked, and would wait here for threads that only the "
        f"launcher has. Do it in the launcher, before the run or behind it (tables cross as Arrow's: "
        f"scope.read_arrow(frame)); or put the program into a file, and say start='spawn'"
    )


def _names_of_others() -> list[str]:
    """What the other threads of this process are called."""
    others = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            try:
                with open(f"/proc/self/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
                    others.append(file.read().strip())
            except OSError:
                continue  # it has ended
    return others


def await_imports() -> None:
    """Wait while other threads import what workers may: one that is forked meanwhile has the lock of that import, but
    not the thread, and would wait for ever when it imports the same. Whole programs are not waited for: the import of
    one may wait for this very run."""
    while _others_import():
        time.sleep(_PAUSE_S)


def _others_import() -> bool:
    locks: dict[str, Any] = getattr(sys.modules["importlib._bootstrap"], "_module_locks", {})
    held = [lock() for name, lock in [*locks.items()] if name.partition(".")[0] in _NEEDED]
    return any(lock is not None and lock.owner not in (None, threading.get_ident()) for lock in held)


def warn_of_threads() -> None:
    """Warn if other threads are here just after a fork: a library that needs them may hang in the workers for ever.

    Those that a library ends before each fork (numpy's) are not seen here; Arrow's, which it makes anew, are left out,
    by their number; Polars', for which nobody waits in a worker (`refuse_polars`); a notebook's, which wait for what
    the kernel itself is asked, and ours, which watch another group.
    """
    others = _names_of_others()
    with open("/proc/self/comm", encoding="utf-8", errors="replace") as file:
        own = file.read().strip()
    pythons = threading.active_count() - 1
    unnamed = max(0, others.count(own) - pythons - _ALLOWED)
    if "pyarrow" in sys.modules:
        import pyarrow as pa  # which waits for a thread that does so just now

        unnamed = max(0, unnamed - _threads_of(pa)) if unnamed else 0
    named = sorted({name for name in others if name != own and not name.startswith(_known_names())})
    pythons -= sum(map(_is_known, threading.enumerate()))
    count = pythons + unnamed + sum([name in named for name in others])
    if count:
        called = f" ({', '.join(named[:4])})" if named else ""
        warnings.warn(
            f"{count} other thread(s) run in this process{called}, which forked workers do not have: a library that "
            f"waits for its threads there hangs for ever. Use start='spawn' or 'forkserver', or use the "
            f"library only after the run",
            RuntimeWarning,
            stacklevel=6,  # who called execute
        )


def _threads_of(arrow: Any) -> int:
    """How many threads Arrow may have started, which go by no name: those that its pools have and some besides, by
    which it reads ahead; if its library hides their number, as many as they may have."""
    most = int(arrow.cpu_count() + arrow.io_thread_count())
    try:
        library = ctypes.CDLL(arrow.lib.__file__)
        count, *pools = [library[name] for name in (_ARROW_COUNT, *_ARROW_POOLS)]
    except AttributeError:
        return most
    for pool in pools:
        pool.restype = ctypes.c_void_p
    return min(most, _ARROW_BESIDES + sum([count(ctypes.c_void_p(pool())) for pool in pools]))


def _known_names() -> tuple[str, ...]:
    """How threads' names begin that no library waits for in a worker."""
    kernels = ("ZMQbg/",) if "ipykernel" in sys.modules else ()
    return ("jemalloc_bg_thd", *kernels, *(_POLARS_POOL if _POLARS in sys.modules else ()))


def _is_known(thread: threading.Thread) -> bool:
    runs = getattr(getattr(thread, "_target", None), "__self__", thread)
    return type(runs).__module__.partition(".")[0] in ("ipykernel", "IPython", __name__.partition(".")[0])
