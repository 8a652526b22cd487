"""Blocks of memory of compiled operators: given back with them, sent as messages, merged while nothing else happens."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import WORDS, int64, kernel, void
from tokenring.engine.compiled import addresses_of, deallocate, monotonic_now_ns, new_message, table_at, wake_at
from tokenring.operators.collections.updates import is_merged, merge_at


@kernel(void(WORDS, int64))
def _free(state, at):  # type: ignore[no-untyped-def]
    if state[at] != 0:
        deallocate(state[at])
        state[at] = 0


class Blocks:
    """The blocks whose addresses these words of an operator's state are, as long as it is there."""

    def __init__(self, state: np.ndarray, words: Sequence[int]) -> None:
        self._state, self._words = state, words

    def __del__(self) -> None:
        for word in self._words:
            _free(self._state, word)


@kernel
def table_of_message(message, columns):  # type: ignore[no-untyped-def]
    """The columns of a message that is being made, two at least, as a table of (columns, at least its rows)."""
    addresses = addresses_of(message)
    return table_at(addresses[0], columns, (addresses[1] - addresses[0]) // 8)


@kernel
def copy_of(world, me, address, shape, rows):  # type: ignore[no-untyped-def]
    """A message of the first rows of a block of this shape."""
    message = new_message(world, me, 0, rows)
    target, block = table_of_message(message, shape[0]), table_at(address, shape[0], shape[1])
    for column in range(shape[0]):
        target[column, :rows] = block[column, :rows]
    return message


@kernel
def merge_on(world, me, spine):  # type: ignore[no-untyped-def]
    """Merges go on at times at which nothing is added, too, each for a bounded number of rows."""
    if not is_merged(spine):
        due_ns = merge_at(spine, monotonic_now_ns())
        if due_ns > 0:
            wake_at(world, me, due_ns)
