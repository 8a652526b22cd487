"""Tables that become longer: the arrays in which operators keep state by slot, as slots are handed out."""

import numpy as np

from tokenring.operators.state.reserved import in_place


def grown(array: np.ndarray, length: int, fill: int | None = 0, axis: int = -1) -> np.ndarray:
    """`array` if `axis` (its last) is `length` long or more; otherwise at least twice as long, new places `fill`
    (None: anything, which leaves memory untouched that is not used yet; so does 0). The array given is not to be grown
    again.
    """
    before = array.shape[axis]
    if before >= length:
        return array
    shape = list(array.shape)
    shape[axis] = max(length, 2 * before)
    longer = in_place(array, shape) if axis == 0 or array.ndim == 1 else None
    if longer is not None:
        if fill:
            longer[before:] = fill
        return longer
    if fill is None:
        longer = np.empty(shape, array.dtype)
    else:
        longer = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)
    if axis == 0:
        longer[:before] = array
    else:
        longer[..., :before] = array
    return longer
