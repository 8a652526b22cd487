"""A binary heap of (time, number), the least time first, in an int64 table: for kernels that close things in time."""

from tokenring.engine import kernel


@kernel
def push(heap, size, end, key):  # type: ignore[no-untyped-def]
    """Add an entry to the `size` there are; there must be room for it."""
    at = size
    while at > 0 and heap[(at - 1) >> 1, 0] > end:
        parent = (at - 1) >> 1
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = end, key


@kernel
def pop(heap, size):  # type: ignore[no-untyped-def]
    """Remove the least of `size` entries, heap[0]."""
    end, key = heap[size - 1, 0], heap[size - 1, 1]
    size -= 1
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if heap[child, 0] >= end:
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at = child
    heap[at, 0], heap[at, 1] = end, key
