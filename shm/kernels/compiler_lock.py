"""Holds signals while a kernel is compiled or loaded, from its import on; not where the handler of Ctrl-C says that it
`exits`, and so leaves nothing half done. Imported when numba is.
"""

import signal
import threading
from typing import Any

from numba.core import event

from tokenring.shm.kernels.deferred_signals import DeferredSignals


class _WhileCompiling(event.Listener):  # type: ignore[misc]
    """Holds signals while numba holds its compiler's lock, which it may take again and again."""

    def __init__(self) -> None:
        self._depth = 0
        self._held = DeferredSignals()

    def on_start(self, event: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth += 1
            if self._depth == 1:
                self._held = DeferredSignals()
                if not getattr(signal.getsignal(signal.SIGINT), "exits", False):
                    self._held.__enter__()

    def on_end(self, event: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth -= 1
            if self._depth == 0:
                self._held.__exit__()


event.register("numba:compiler_lock", _WhileCompiling())
