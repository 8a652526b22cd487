"""TopState: the k best rows of each slot, in order."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, Schema, int64, kernel
from tokenring.engine.compiled import Words
from tokenring.operators.migrate import Table
from tokenring.operators.state import HeapedColumns, Keys, RowStore, grown, joined
from tokenring.operators.state.moving import Rows, tables_of
from tokenring.operators.time import order_words, ranked

COUNT, CHANGED = range(2)
"""The first words of a slot's block: how many rows it has, and the first rank that changed, from 1; 0 if none has."""
HEADER = 2
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
    at = block[COUNT]
    if at == most:
        at -= 1
        if not comes_before(orders, i, block, first + at * width, equal_wins):
            return -1
    else:
        block[COUNT] += 1
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
def note_change(block: Words, at: int, slot: int, touched: Words, found: int) -> int:
    """The ranks of a slot have changed from place `at` on: it is listed, once, behind the `found` of those before.
    Returns how many there are then."""
    if block[CHANGED] == 0:
        touched[found] = slot
        block[CHANGED] = at + 1
        return found + 1
    block[CHANGED] = min(block[CHANGED], at + 1)
    return found


@kernel(int64(TABLE, COLUMN, int64, int64, TABLE, WORDS, WORDS))
def insert(orders: Words, slots: Words, most: int, equal_wins: int, blocks: Words, put: Words, touched: Words) -> int:
    """Rank rows among the best of their slots.

    blocks, int64 (slots, HEADER + most rows): of each row also where among the slot's places it is stored. put, int64
    (rows,): the place that each row is to be stored at, -1 if it is not among the best. touched: the slots whose ranks
    had not changed before. Returns how many.
    """
    found, width = 0, orders.shape[1] + 1
    for i in range(len(slots)):
        slot = slots[i]
        block = blocks[slot]
        place = block[COUNT]
        if place == most:
            place = block[HEADER + most * width - 1]  # of the row that has to go
        at = place_row(orders, i, block, HEADER, width, most, equal_wins != 0)
        put[i] = -1
        if at >= 0:
            block[HEADER + (at + 1) * width - 1] = place
            put[i] = slot * most + place
            found = note_change(block, at, slot, touched, found)
    return found


@kernel(int64(COLUMN, int64, int64, TABLE, WORDS, WORDS))
def list_changed(slots: Words, most: int, width: int, blocks: Words, found: Words, ranks: Words) -> int:
    """Write the places and ranks of slots' best rows, from the first changed rank on; nothing is changed then."""
    total = 0
    for slot in slots:
        block = blocks[slot]
        for at in range(max(block[CHANGED], 1) - 1, block[COUNT]):
            found[total], ranks[total] = slot * most + block[HEADER + (at + 1) * width - 1], at + 1
            total += 1
        block[CHANGED] = 0
    return total


def top_tables(schema: Schema, by: Sequence[str], rows: Schema) -> list[Table]:
    """The tables that the best `rows` of each key are as they move."""
    return tables_of(schema.select(by), by, [{}, rows.spec()])


class TopState:
    """The best rows of `schema` by slot; of equal ones the first to arrive, or the last with equal_wins. Memory: `most`
    rows a slot."""

    def __init__(
        self, schema: Schema, order: str, ties: tuple[str, ...], most: int, largest: bool, equal_wins: bool = False
    ) -> None:
        self._order, self._ties, self._largest, self._most = order, ties, largest, most
        self._equal_wins = int(equal_wins)
        self._width = 2 + len(ties)
        self._blocks = np.zeros((64, HEADER + most * self._width), np.int64)
        self._rows = RowStore(schema)

    def reset(self, slots: np.ndarray, limit: int) -> None:
        """See State."""
        self._blocks = grown(self._blocks, limit, axis=0)
        self._blocks[slots, :HEADER] = 0

    def take(self, batch: Batch, slots: np.ndarray) -> None:
        """See State."""
        self.changes(batch, slots)

    def changes(self, batch: Batch, slots: np.ndarray) -> np.ndarray:
        """Take rows; returns the slots whose best rows have changed, int64 (n,)."""
        return self.enter(batch, slots)[0]

    def enter(self, batch: Batch, slots: np.ndarray) -> tuple[np.ndarray, Batch]:
        """Take rows; returns the slots whose best rows have changed, int64 (n,), and the rows that made them."""
        chosen = ranked(batch, self._order)
        if chosen is not None and not chosen.all():
            batch, slots = batch.filter(chosen), slots[chosen]
        put, touched = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
        orders = order_words(batch, self._order, self._ties, self._largest)
        found = insert(orders, slots, self._most, self._equal_wins, self._blocks, put, touched)
        rows = np.flatnonzero(put >= 0)
        if len(rows):
            self._rows.put(put[rows], batch.select(self._rows.schema), rows)
        return touched[:found], batch.take(rows)

    def merge(self, other: "TopState", source: np.ndarray, target: np.ndarray) -> None:
        """See State."""
        counts = other._blocks[source, COUNT]
        places, _ = other._listed(source)
        self.take(other._rows.batch(places), np.repeat(target, counts))

    def drop(self, slots: np.ndarray) -> None:
        """See State."""
        self._rows.drop((slots[:, None] * self._most + np.arange(self._most)).ravel())

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept: of each slot its rows, in order."""
        which = np.repeat(np.arange(len(slots)), self._blocks[slots, COUNT])
        rows = self._rows.batch(self._listed(slots)[0])
        self.drop(slots)
        return [(((), ()), None), ((rows.columns, rows.heaps or (None,) * len(rows.columns)), which)]

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        self.reset(slots[0], limit)
        rows, owners = tables[1].select(self._rows.schema), slots[1]
        if self._equal_wins:  # of equal ones, the last to come goes first
            rows, owners = rows.take(np.arange(rows.rows)[::-1]), owners[::-1].copy()
        self.take(rows, owners)
        self._blocks[slots[0], CHANGED] = 0

    def _listed(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._blocks[slots, CHANGED] = 1
        return self.changed_rows(slots)

    def changed_rows(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places and ranks, int64, of the rows of slots from the first rank on that has changed since the last call."""
        blocks = self._blocks
        room = int(blocks[slots, COUNT].sum())
        places, ranks = np.empty(room, np.int64), np.empty(room, np.int64)
        total = list_changed(slots, self._most, self._width, blocks, places, ranks)
        return places[:total], ranks[:total]

    def shown(self, places: np.ndarray, ranks: np.ndarray) -> tuple[HeapedColumns, int]:
        """The rows at places, and their ranks."""
        batch = self._rows.batch(places)
        heaps = batch.heaps or (None,) * len(batch.columns)
        return joined((batch.columns, heaps), ((ranks,), (None,))), batch.rows

    def output(self, keys: Keys, slots: np.ndarray) -> tuple[HeapedColumns, int]:
        """See State: the rows, with their ranks from 1."""
        return self.shown(*self._listed(slots))
