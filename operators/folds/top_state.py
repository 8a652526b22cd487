"""TopState: the k best rows of each slot, in order."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, Schema, int64, kernel
from tokenring.operators.state import HeapedColumns, Keys, RowStore, grown, joined
from tokenring.operators.time import order_words, ranked


@kernel
def _before(one, i, other, j):  # type: ignore[no-untyped-def]
    """Whether row i of one table comes before row j of another, lexicographically."""
    for at in range(one.shape[1]):
        if one[i, at] != other[j, at]:
            return one[i, at] < other[j, at]
    return False


@kernel(int64(TABLE, COLUMN, int64, TABLE, WORDS, WORDS, WORDS, WORDS, WORDS))
def insert(orders, slots, most, kept, places, counts, changed, put, touched):  # type: ignore[no-untyped-def]
    """Rank rows among the best of their slots, behind equal ones.

    kept, int64 (most * slots, words), places, int64 (most * slots,): of each slot's best rows, in order, the order and
    where among the slot's places the row is stored. put, int64 (rows,): the place that each row is to be stored at, -1
    if it is not among the best. changed, int64 (slots,): the first rank that changed, from 1; touched: slots where it
    was 0 before. Returns how many.
    """
    found = 0
    for i in range(len(slots)):
        slot = slots[i]
        base, count = slot * most, counts[slot]
        put[i] = -1
        if count == most:
            if not _before(orders, i, kept, base + most - 1):
                continue
            place, at = places[base + most - 1], most - 1
        else:
            place, at = count, count
            counts[slot] += 1
        while at > 0 and _before(orders, i, kept, base + at - 1):
            for word in range(kept.shape[1]):
                kept[base + at, word] = kept[base + at - 1, word]
            places[base + at] = places[base + at - 1]
            at -= 1
        for word in range(kept.shape[1]):
            kept[base + at, word] = orders[i, word]
        places[base + at] = place
        put[i] = base + place
        if changed[slot] == 0:
            touched[found] = slot
            found += 1
            changed[slot] = at + 1
        else:
            changed[slot] = min(changed[slot], at + 1)
    return found


@kernel(int64(COLUMN, int64, WORDS, WORDS, WORDS, WORDS, WORDS))
def list_changed(slots, most, places, counts, changed, found, ranks):  # type: ignore[no-untyped-def]
    """Write the places and ranks of slots' best rows, from the first changed rank on; nothing is changed then."""
    total = 0
    for slot in slots:
        for at in range(max(changed[slot], 1) - 1, counts[slot]):
            found[total], ranks[total] = slot * most + places[slot * most + at], at + 1
            total += 1
        changed[slot] = 0
    return total


class TopState:
    """The best rows of `schema` by slot. Memory: `most` rows a slot."""

    def __init__(self, schema: Schema, order: str, ties: tuple[str, ...], most: int, largest: bool) -> None:
        self._order, self._ties, self._largest, self._most = order, ties, largest, most
        self._kept = np.empty((64 * most, 1 + len(ties)), np.int64)
        self._places = np.empty(64 * most, np.int64)
        self._counts, self._changed = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self._rows = RowStore(schema)

    def reset(self, slots: np.ndarray, limit: int) -> None:
        """See State."""
        self._reserve(limit)
        self._counts[slots] = self._changed[slots] = 0

    def _reserve(self, limit: int) -> None:
        if len(self._counts) < limit:
            self._counts, self._changed = grown(self._counts, limit), grown(self._changed, limit)
            rows = self._most * len(self._counts)
            self._places = grown(self._places, rows, None)
            self._kept = grown(self._kept, rows, None, axis=0)

    def tables(self, limit: int) -> tuple[np.ndarray, ...]:
        """Room for slots below `limit`, of rows without text: kept, places, counts and changed, as `insert` takes them,
        and the columns of the rows that are stored."""
        self._reserve(limit)
        return self._kept, self._places, self._counts, self._changed, *self._rows.reserve(self._most * limit)

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
        found = insert(
            *(orders, slots, self._most, self._kept, self._places, self._counts, self._changed, put, touched)
        )
        rows = np.flatnonzero(put >= 0)
        if len(rows):
            self._rows.put(put[rows], batch.select(self._rows.schema), rows)
        return touched[:found], batch.take(rows)

    def merge(self, other: "TopState", source: np.ndarray, target: np.ndarray) -> None:
        """See State."""
        counts = other._counts[source]
        places, _ = other._listed(source)
        self.take(other._rows.batch(places), np.repeat(target, counts))

    def drop(self, slots: np.ndarray) -> None:
        """See State."""
        self._rows.drop((slots[:, None] * self._most + np.arange(self._most)).ravel())

    def _listed(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._changed[slots] = 1
        return self.changed_rows(slots)

    def changed_rows(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places and ranks, int64, of the rows of slots from the first rank on that has changed since the last call."""
        room = int(self._counts[slots].sum())
        places, ranks = np.empty(room, np.int64), np.empty(room, np.int64)
        total = list_changed(slots, self._most, self._places, self._counts, self._changed, places, ranks)
        return places[:total], ranks[:total]

    def shown(self, places: np.ndarray, ranks: np.ndarray) -> tuple[HeapedColumns, int]:
        """The rows at places, and their ranks."""
        batch = self._rows.batch(places)
        heaps = batch.heaps or (None,) * len(batch.columns)
        return joined((batch.columns, heaps), ((ranks,), (None,))), batch.rows

    def output(self, keys: Keys, slots: np.ndarray) -> tuple[HeapedColumns, int]:
        """See State: the rows, with their ranks from 1."""
        return self.shown(*self._listed(slots))
