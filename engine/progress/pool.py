"""Regions of the count tables' pool, claimed and given back by size: what is outgrown or forgotten is used again.

A region has a power of two of pairs of words. Those that were given back are in a list for each size; the first word of
each names the next.
"""

from tokenring.shm.kernels import kernel, words_at

# Words of the tables' state (the others: engine/progress/counts.py). FREE_REGIONS: for each power of two the first
# free region of so many pairs, plus one; 0: none.
POOL_ADDRESS, POOL_CAPACITY, POOL_USED, FREE_REGIONS = range(4)
SIZES = 48
POOL_STATE_WORDS = FREE_REGIONS + SIZES


@kernel
def _size(pairs):  # type: ignore[no-untyped-def]
    """The least power of two that is at least `pairs`, as an exponent."""
    size = 0
    while (1 << size) < pairs:
        size += 1
    return size


@kernel
def claim(state, pairs):  # type: ignore[no-untyped-def]
    """A region of at least `pairs` pairs, as the number of its first one, with anything in it; -1 if the pool is full.
    """
    size = _size(pairs)
    free = state[FREE_REGIONS + size] - 1
    if free >= 0:
        state[FREE_REGIONS + size] = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])[2 * free]
        return free
    if state[POOL_USED] + (1 << size) > state[POOL_CAPACITY]:
        return -1
    first = state[POOL_USED]
    state[POOL_USED] += 1 << size
    return first


@kernel
def give_back(state, region, pairs):  # type: ignore[no-untyped-def]
    """Let a region that was claimed with `pairs` be claimed again."""
    size = _size(pairs)
    words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])[2 * region] = state[FREE_REGIONS + size]
    state[FREE_REGIONS + size] = region + 1
