"""The free list: places of a table handed out by kernels, those given back first.

`free`, int64, has room for every place of the table.
"""

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words


class FreeList(Record):
    """`limit`: places ever handed out; `free`: how many of them are to be used again."""

    limit: int
    free: int


@kernel
def take_place(free: Words, counts: FreeList) -> int:
    """A place, for which there must be room: counts.free is not 0, or counts.limit less than the table is long."""
    if counts.free > 0:
        counts.free -= 1
        return free[counts.free]
    counts.limit += 1
    return counts.limit - 1


@kernel
def give_place(free: Words, counts: FreeList, place: int) -> None:
    """Give a place back."""
    free[counts.free] = place
    counts.free += 1
