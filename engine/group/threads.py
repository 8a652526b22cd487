"""Threads of this process that a fork does not copy, and what is said of them."""

import os
import sys
import threading
import warnings

_ALLOWED = 1  # faulthandler's, which waits for a time-out


def warn_of_threads() -> None:
    """Warn if other threads are here just after a fork: a library that needs them may hang in the workers for ever.

    Those that a library ends before each fork (numpy's) are not seen here; Arrow's, which it makes anew, are left out,
    by their number; a notebook's, which wait for what the kernel itself is asked, and ours, which watch another group.
    """
    others = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            try:
                with open(f"/proc/self/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
                    others.append(file.read().strip())
            except OSError:
                continue  # it has ended
    with open("/proc/self/comm", encoding="utf-8", errors="replace") as file:
        own = file.read().strip()
    pythons = threading.active_count() - 1
    unnamed = max(0, others.count(own) - pythons - _ALLOWED)
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        unnamed = max(0, unnamed - arrow.cpu_count() - arrow.io_thread_count())
    named = sorted({name for name in others if name != own and not name.startswith(_known_names())})
    pythons -= sum(map(_is_known, threading.enumerate()))
    count = pythons + unnamed + sum([name in named for name in others])
    if count:
        called = f" ({', '.join(named[:4])})" if named else ""
        warnings.warn(
            f"{count} other thread(s) run in this process{called}, which forked workers do not have: a library that "
            f"waits for its threads there (Polars, say) hangs for ever. Use start='spawn' or 'forkserver', or use the "
            f"library only after the run",
            RuntimeWarning,
            stacklevel=6,  # who called execute
        )


def _known_names() -> tuple[str, ...]:
    """How threads' names begin that no library waits for in a worker."""
    return ("jemalloc_bg_thd", "ZMQbg/") if "ipykernel" in sys.modules else ("jemalloc_bg_thd",)


def _is_known(thread: threading.Thread) -> bool:
    runs = getattr(getattr(thread, "_target", None), "__self__", thread)
    return type(runs).__module__.partition(".")[0] in ("ipykernel", "IPython", __name__.partition(".")[0])
