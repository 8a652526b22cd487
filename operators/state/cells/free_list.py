"""The free list: places of a table handed out by kernels, those given back first.

`meta`, int64, begins with the two words below. `free`, int64, has room for every place of the table.
"""

from tokenring.engine import kernel

LIMIT, FREE = range(2)
"""Words of `meta`: places ever handed out; entries of `free`, places to be used again."""


@kernel
def take_place(free, meta):  # type: ignore[no-untyped-def]
    """A place, for which there must be room: meta[FREE] is not 0, or meta[LIMIT] less than the table is long."""
    if meta[FREE] > 0:
        meta[FREE] -= 1
        return free[meta[FREE]]
    meta[LIMIT] += 1
    return meta[LIMIT] - 1


@kernel
def give_place(free, meta, place):  # type: ignore[no-untyped-def]
    """Give a place back."""
    free[meta[FREE]] = place
    meta[FREE] += 1
