"""Rows that cannot be the best of their key, since one of the same message is better, need not go to who ranks them.

A small table says which row may be the best of a key; where another key has taken its cell, the key gets a second row.
Messages that keep most of their rows pass as they are.
"""

from collections.abc import Callable

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, Thins, int64, kernel, text_equal
from tokenring.engine.columns import heap_address
from tokenring.engine.compiled import Words, address_of, signed, unsigned, words_at
from tokenring.operators.migrate import key_words
from tokenring.operators.ranking.top_state import comes_before
from tokenring.operators.time import order_words, ranked

_CELL_BITS = 12  # so that the table stays in a core's innermost cache
_PIECE_ROWS = 4096  # after which it is asked whether it pays
_MIXED = unsigned(0x9E3779B97F4A7C15)


@kernel
def _is_of_key(keys: Words, row: int, other: int, rows: int) -> bool:
    for column in range(len(keys)):
        words, heap = words_at(keys[column, 0], rows), keys[column, 1]
        one, two = words[row], words[other]
        if one != two and (heap == 0 or one < 0 or two < 0 or not text_equal(one, heap, two, heap)):
            return False
    return True


@kernel(int64(COLUMN, TABLE, TABLE, int64, WORDS, WORDS))
def thin(words: Words, keys: Words, orders: Words, equal_wins: int, cells: Words, best: Words) -> int:
    """Rows of which each row that is left out has a better one, of the same key: they are written to `best`, of one key
    in order. Returns how many; -1 if more than half are.

    words: int64 (rows,), equal for equal keys; keys: int64 (columns, 2), the addresses of the key's columns, of which
    equal words are of equal keys, and of their heaps, 0 where they are no text; orders: int64 (rows, n), the least is
    the best; cells: int64 (1 << _CELL_BITS,), whatever is in them.
    """
    rows, made = len(best), 0
    for row in range(rows):
        if row % _PIECE_ROWS == 0 and 2 * made > row:
            return -1
        home = signed((unsigned(words[row]) * _MIXED) >> unsigned(64 - _CELL_BITS))
        at = cells[home]
        if at < 0 or at >= made or words[row] != words[best[at]] or not _is_of_key(keys, row, best[at], rows):
            cells[home], best[made] = made, row
            made += 1
        elif comes_before(orders, row, orders[best[at]], 0, equal_wins != 0):
            best[at] = row
    return made if 2 * made <= rows else -1


class _Thinner:
    """What one worker asks of its messages."""

    def __init__(self, by: tuple[str, ...], order: str, ties: tuple[str, ...], largest: bool, equal_wins: bool) -> None:
        self._by, self._order, self._ties, self._largest = by, order, ties, largest
        self._equal_wins = int(equal_wins)
        self._cells = np.zeros(1 << _CELL_BITS, np.int64)

    def __call__(self, batch: Batch) -> Batch | None:
        chosen = ranked(batch, self._order)
        rows = batch if chosen is None else batch.filter(chosen)
        columns = [np.ascontiguousarray(rows.words(name)) for name in self._by]
        heaps = [rows.heaps[rows.schema.position(name)] if rows.heaps else None for name in self._by]
        keys = np.array(
            [
                (address_of(column), 0 if heap is None else heap_address(heap))
                for column, heap in zip(columns, heaps, strict=True)
            ]
        )
        orders = order_words(rows, self._order, self._ties, self._largest)
        best = np.empty(rows.rows, np.int64)
        left = thin(key_words(rows, self._by), keys, orders, self._equal_wins, self._cells, best)
        return None if left < 0 else rows.take(best[:left])


def thinned(by: tuple[str, ...], order: str, ties: tuple[str, ...], largest: bool, equal_wins: bool = False) -> Thins:
    """Leaves out rows that are not the best of their key in their message, where that pays: those with the least `ties`
    of those with the largest (or smallest) `order`, none of them text; of equal ones the first, or the last with
    equal_wins. by: columns of the key."""

    def make() -> Callable[[Batch], Batch | None]:
        return _Thinner(by, order, ties, largest, equal_wins)

    return make
