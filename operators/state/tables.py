"""Tables that double: the arrays in which operators keep state by slot, made longer as slots are handed out."""

from typing import Any

import numpy as np


def grown(array: np.ndarray, length: int, fill: int | None = 0, axis: int = -1) -> np.ndarray:
    """`array` if `axis` (its last) is `length` long or more; otherwise a copy at least twice as long, new places `fill`
    (None: anything, which leaves memory untouched that is not used yet; so does 0).
    """
    before = array.shape[axis]
    if before >= length:
        return array
    shape = list(array.shape)
    shape[axis] = max(length, 2 * before)
    longer: np.ndarray[Any, Any]
    if fill is None:
        longer = np.empty(shape, array.dtype)
    else:
        longer = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)
    if axis == 0:
        longer[:before] = array
    else:
        longer[..., :before] = array
    return longer
