"""The k best rows of each slot, in order, as a block of words."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Schema, int64, kernel
from tokenring.engine.compiled import Record, Words, record_of
from tokenring.operators.migrate import Table
from tokenring.operators.state.moving import tables_of


class Header(Record):
    """What a slot's block begins with: how many rows it has, and the first rank that changed, from 1; 0 if none has."""

    count: int
    changed: int


HEADER = Header.size
"""Words of a block before what else its owner keeps of the slot; then come the rows, in order: of each the words of its
order, then what its owner keeps of it."""


@kernel
def comes_before(orders: Words, i: int, block: Words, row: int, equal_wins: bool) -> bool:
    """Whether row i of `orders` is better than the one whose order stands in a block from word `row` on."""
    for at in range(orders.shape[1]):
        if orders[i, at] != block[row + at]:
            return orders[i, at] < block[row + at]
    return equal_wins


@kernel
def place_row(orders: Words, i: int, block: Words, first: int, width: int, most: int, equal_wins: bool) -> int:
    """Put the order of row i among the rows of a block, of `width` words each from word `first` on, behind equal ones,
    or before them if equal_wins. Returns its place from 0; -1 if `most` others are better."""
    header = record_of(block, Header)
    at = header.count
    if at == most:
        at -= 1
        if not comes_before(orders, i, block, first + at * width, equal_wins):
            return -1
    else:
        header.count += 1
    row = first + at * width
    while at > 0 and comes_before(orders, i, block, row - width, equal_wins):
        for word in range(row, row + width):
            block[word] = block[word - width]
        at -= 1
        row -= width
    for word in range(orders.shape[1]):
        block[row + word] = orders[i, word]
    return at


@kernel
def note_change(header: Header, at: int, slot: int, touched: Words, found: int) -> int:
    """The ranks of a slot, whose block begins so, have changed from place `at` on: it is listed, once, behind the
    `found` of those before. Returns how many there are then."""
    if header.changed == 0:
        touched[found] = slot
        header.changed = at + 1
        return found + 1
    header.changed = min(header.changed, at + 1)
    return found


@kernel(int64(TABLE, COLUMN, int64, COLUMN, WORDS, WORDS, WORDS))
def _place_all(
    orders: Words, groups: Words, most: int, begins: Words, blocks: Words, rows: Words, ranks: Words
) -> int:
    """Write the best rows, group after group in order, and their ranks from 1; returns how many. blocks: of zeros, one
    for each group from word `begins` on, in which the number of each row stands behind its order."""
    width, found = orders.shape[1] + 1, 0
    for i in range(len(groups)):
        block = blocks[begins[groups[i]] :]
        at = place_row(orders, i, block, HEADER, width, most, False)
        if at >= 0:
            block[HEADER + (at + 1) * width - 1] = i
    for begin in begins:
        for at in range(record_of(blocks[begin:], Header).count):
            rows[found], ranks[found] = blocks[begin + HEADER + (at + 1) * width - 1], at + 1
            found += 1
    return found


def best_places(orders: np.ndarray, groups: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The `most` first rows of each group by int64 (rows, n) words, of equal ones those that came first, group after
    group in order, and their ranks from 1: int64. groups: that of each row, from 0."""
    lengths = HEADER + np.minimum(np.bincount(groups), most) * (orders.shape[1] + 1)
    blocks = np.zeros(lengths.sum(), np.int64)
    rows, ranks = np.empty(len(groups), np.int64), np.empty(len(groups), np.int64)
    found = _place_all(orders, groups, most, np.cumsum(lengths) - lengths, blocks, rows, ranks)
    return rows[:found], ranks[:found]


def top_tables(schema: Schema, by: Sequence[str], rows: Schema) -> list[Table]:
    """The tables that the best `rows` of each key are as they move."""
    return tables_of(schema.select(by), by, [{}, rows.spec()])
