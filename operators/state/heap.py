"""A binary heap of (time, number), the least time first, in an int64 table: for kernels that close things in time."""

from tokenring.engine import kernel
from tokenring.engine.compiled import Words


@kernel
def push(heap: Words, size: int, end: int, key: int) -> None:
    """Add an entry to the `size` there are; there must be room for it."""
    at = size
    while at > 0 and heap[(at - 1) >> 1, 0] > end:
        parent = (at - 1) >> 1
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = end, key


@kernel
def pop(heap: Words, size: int) -> None:
    """Remove the least of `size` entries, heap[0].

    The gap sinks to a leaf, each time to where the lesser child was, and the last entry rises from there: it came from
    the leaves and seldom rises far. No step depends on a comparison that a processor could guess wrong.
    """
    size -= 1
    end, key = heap[size, 0], heap[size, 1]
    at, child = 0, 1
    while child + 1 < size:
        child += heap[child + 1, 0] < heap[child, 0]
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at, child = child, 2 * child + 1
    if child < size:
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at = child
    while at > 0 and heap[(at - 1) >> 1, 0] > end:
        parent = (at - 1) >> 1
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = end, key
