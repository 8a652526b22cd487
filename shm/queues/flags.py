"""Flags: a bit for each worker in words that all share, so that whether anybody's is set takes a load or two.

Worker w has bit w % 64 of word w // 64 from the first word's address on. A flag is set and cleared by one atomic
operation on its word, so that nobody loses a neighbour's.
"""

from tokenring.shm.kernels import boolean, int64, kernel, void
from tokenring.shm.memory import fetch_and, fetch_or, load_acquire

FLAGS_IN_WORD = 64


@kernel(void(int64, int64))
def set_flag(first_address: int, worker: int) -> None:
    """Set a worker's flag."""
    fetch_or(first_address + 8 * (worker >> 6), 1 << (worker & 63))


@kernel(boolean(int64, int64))
def clear_flag(first_address: int, worker: int) -> bool:
    """Clear a worker's flag; whether it was set, which only one of several learns that clear it at once."""
    bit = 1 << (worker & 63)
    return fetch_and(first_address + 8 * (worker >> 6), ~bit) & bit != 0


@kernel(boolean(int64, int64))
def any_set(first_address: int, workers: int) -> bool:
    """Whether the flag of any of so many workers is set."""
    for word in range((workers + FLAGS_IN_WORD - 1) >> 6):
        if load_acquire(first_address + 8 * word) != 0:
            return True
    return False


@kernel(int64(int64, int64, int64))
def next_set(first_address: int, workers: int, start: int) -> int:
    """The next worker from `start` on whose flag is set; -1 if there is none."""
    worker = start
    while worker < workers:
        word = load_acquire(first_address + 8 * (worker >> 6)) >> (worker & 63)
        while word != 0:  # the sign is shifted in above the highest flag, which is found before it
            if word & 1:
                return worker
            word >>= 1
            worker += 1
        worker = (worker | 63) + 1
    return -1
