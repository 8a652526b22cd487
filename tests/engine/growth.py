"""How the time that something takes grows with its size: a ratio of times measured side by side."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time


def growth(task: Callable[[int], object], small: int, large: int) -> float:
    """The time of `task(large)` over that of `task(small)`, each the best of three taken in turn."""
    task(small)
    best = {small: float("inf"), large: float("inf")}
    gc.disable()
    try:
        for _ in range(3):
            for size in best:
                began = process_time()
                task(size)
                best[size] = min(best[size], process_time() - began)
    finally:
        gc.enable()
    return best[large] / best[small]
