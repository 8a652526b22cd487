"""How many threads numpy's BLAS has in the command's processes: one, unless somebody has said how many.

OpenBLAS starts its threads when numpy is imported, and they spin for a while: twice the CPU of the import, for nothing.
Workers are pinned to a core each, where a second thread would only be in the way of the first.
"""

from __future__ import annotations

import os

_NAME = "OPENBLAS_NUM_THREADS"
_SAID_BY = (_NAME, "GOTO_NUM_THREADS", "OMP_NUM_THREADS")  # what OpenBLAS looks at, an earlier one first

_is_ours = False


def one_blas_thread() -> None:
    """Let this process, and workers that it starts, have one; to be said before numpy is imported."""
    global _is_ours
    if not any([name in os.environ for name in _SAID_BY]):
        os.environ[_NAME] = "1"
        _is_ours = True


def environment_of_others() -> dict[str, str]:
    """The environment of a program that is none of ours: it has as many threads as if we did not start it."""
    return {name: value for name, value in os.environ.items() if not (_is_ours and name == _NAME)}
