"""Tables that become longer: the arrays in which operators keep state by slot, as slots are handed out."""

import mmap

import numpy as np

from tokenring.operators.state.reserved import in_place

_HUGE = 4 << 20  # bytes from which memory is asked for in huge pages


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


class GrowingTable:
    """A table of int64 words, (rows, columns), in memory of its own, that grows where it is or moves as a whole: as
    nothing is copied, no step takes the longer the more there is, and no page is touched that is not used. New words
    are 0. Memory: that of the rows that were ever written to."""

    __slots__ = ("_columns", "_memory", "rows")

    def __init__(self, columns: int, rows: int = 64) -> None:
        self._columns, self.rows = columns, rows
        self._memory = mmap.mmap(-1, 8 * rows * columns, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def reserve(self, rows: int) -> None:
        """Make room for rows below `rows`. Nobody may hold `table` meanwhile (BufferError). MemoryError if there is
        none."""
        if rows > self.rows:
            size = 8 * rows * self._columns
            try:
                self._memory.resize(size)
            except OSError as error:
                raise MemoryError(f"no memory for {size} bytes of state: {error}") from None
            self.rows = rows
            if size >= _HUGE:
                self._memory.madvise(mmap.MADV_HUGEPAGE)

    @property
    def table(self) -> np.ndarray:
        """The words, until the next `reserve`."""
        return np.frombuffer(self._memory, np.int64).reshape(self.rows, self._columns)

    @property
    def address(self) -> int:
        """Where the words are, in bytes, until the next `reserve`."""
        return np.frombuffer(self._memory, np.int64).ctypes.data
