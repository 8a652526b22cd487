"""Tables that become longer, in which operators keep state by slot, as slots are handed out; and what slots hold."""

from functools import cache
from math import prod

import numpy as np

from tokenring.engine import kernel, require_memory
from tokenring.engine.arguments import whole_number
from tokenring.engine.compiled import Words
from tokenring.operators.state.reserved import in_place

FIRST_SLOTS = 16
"""How many slots a table begins with: few, for most operators of a program that has thousands hold little."""


@cache
def shared_scratch(user: str, rows: int, words: int) -> np.ndarray:
    """Room for what a kernel needs until it returns, int64 (rows, words): all operators of a `user`, who is a module,
    have the same one, for they run one after the other."""
    return np.zeros((rows, words), np.int64)


def grown(array: np.ndarray, length: int, fill: int | None = 0, axis: int = -1) -> np.ndarray:
    """`array` if `axis` (its last) is `length` long or more; otherwise at least twice as long, new places `fill`
    (None: anything, which leaves memory untouched that is not used yet; so does 0). The array given is not to be grown
    again. MemoryBudgetError where what is copied or filled at once does not fit into the group's budget.
    """
    before = array.shape[axis]
    if before >= length:
        return array
    length = whole_number("grown", "length", length, 0)
    if fill is not None and array.dtype.kind in "iu":
        fill = whole_number("grown", "fill", fill, -(2**63), 2**64)
    shape = list(array.shape)
    shape[axis] = max(length, 2 * before)
    filled_bytes = prod(shape) * array.itemsize - array.nbytes if fill else 0
    longer = in_place(array, shape) if axis == 0 or array.ndim == 1 else None
    if longer is not None:
        if fill:
            require_memory(filled_bytes)
            longer[before:] = fill
        return longer
    require_memory(array.nbytes + filled_bytes)
    if fill is None:
        longer = np.empty(shape, array.dtype)
    else:
        longer = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)
    if axis == 0:
        longer[:before] = array
    else:
        longer[..., :before] = array
    return longer


@kernel
def gather(words: Words, slots: Words, column: Words) -> None:
    """Write the words of slots."""
    for i in range(len(slots)):
        column[i] = words[slots[i]]
