"""Dealing a message's rows to few workers eight at a time, on processors that pack words (`can_pack`)."""

from tokenring.shm.kernels import Words, bytes_at, kernel, words_at
from tokenring.shm.memory import pack_eight, pack_rest
from tokenring.shm.queues.data_queue import route

FEW_WORKERS = 8
"""Every worker looks at every row's owner: of more workers, numbers of rows are dealt instead."""


@kernel
def deal(keys: int, start: int, stop: int, owners_at: int, counts: Words) -> None:
    """Write whose each of the rows start..stop is, a byte each at `owners_at` (and eight bytes behind), and count them
    in counts[0]."""
    workers = counts.shape[1]
    rows = stop - start
    owners = bytes_at(owners_at, rows)
    mine = words_at(keys + 8 * start, rows)
    for row in range(rows):
        owners[row] = route(mine[row], workers)
    rest = rows
    for worker in range(1, workers):
        count = 0
        for row in range(rows):
            count += owners[row] == worker
        counts[0, worker] = count
        rest -= count
    counts[0, 0] = rest


@kernel
def pack(target: int, origin: int, owners_at: int, owner: int, rows: int) -> None:
    """Copy those of the `rows` words at `origin` to `target`, one after another, that are the owner's."""
    whole = rows & ~7
    for row in range(0, whole, 8):
        target += 8 * pack_eight(target, origin + 8 * row, owners_at + row, owner)
    if whole < rows:
        pack_rest(target, origin + 8 * whole, owners_at + whole, owner, rows - whole)
