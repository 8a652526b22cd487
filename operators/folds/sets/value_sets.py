"""ValueSets: which values each slot has seen, exactly, in compiled operators, for several conditions at once.

A pair of slot and value is one word, and a cell: the pair packed, and below it a flag for each condition that it was
seen under. A slot's pairs go by its `owner`, a number of its own, so that those of a slot that is forgotten can stay
until there are enough of them to be swept out. Where pairs lie close together, the dense form has a byte of flags for
each that there could be. Values that are too far apart to be packed are numbered by Keys before.

Where slots are merged into others, each has a list of what was new to it, by which its values are found.

Where pairs are to be in another form, or packed otherwise, they move there a few with each row (moving.py). Only where
values begin to be numbered, and where numbers are to be packed otherwise, all pairs are entered at once.
"""

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, Kind, Schema, Strings, kernel, void
from tokenring.engine.compiled import Words, heap_of_words, record_of
from tokenring.engine.raw import address_of, bytes_at, words_at
from tokenring.operators.folds.sets.links import let_links_go
from tokenring.operators.folds.sets.pairs import list_pairs
from tokenring.operators.folds.sets.rehashing import begin_to_leave, free_owners, rehash_pairs
from tokenring.operators.folds.sets.words import GONE, Link, ValueSet
from tokenring.operators.state import (
    FULL,
    FULL_OF,
    LEAST,
    MOST,
    Keys,
    TextNumbers,
    begin_settling,
    grown,
    link_numbers,
    mark_of,
    put,
    settle_all,
    what_stands_for,
)

_FIRST = 64
_NO_CELLS = np.zeros(0, np.int64)
_LEAST_DENSE = 1 << 10  # fewer are quick to find in any form
_SPREAD = 16  # pairs among so many times as many are dense, which takes no more than cells do
_MOST_DENSE = 1 << 32  # bytes, of which only some are written to
_SPARE_BITS, _OWNER_BITS = 4, 16
_ALL = 1 << 40  # rows, with which all pairs move
_FEW = 1 << 12  # pairs that move at once
_MORE_LINKS = 1 << 10  # than there are of rows that are looked at together: see fold_sets


@kernel(void(WORDS, COLUMN, COLUMN))
def _enter(words: Words, tags: Words, flags: Words) -> None:
    """Enter pairs, packed, which are not there."""
    row = record_of(words, ValueSet)
    cells, mask = words_at(row.cells, row.cell_count), row.cell_count - 1
    dense = bytes_at(row.dense_at, row.dense_room)
    for i in range(len(tags)):
        if row.dense_room > 0:
            dense[tags[i]] = flags[i]
        else:
            put(cells, tags[i] << row.flag_bits | flags[i], mark_of(tags[i]) & mask, mask)


class ValueSets:
    """Sets of values of one column by slot. Memory: 12 to 24 bytes a pair of slot and value, 1 to 16 where they lie
    close together; 32 more where slots are merged, and of texts each different one."""

    def __init__(self, row: ValueSet, kind: Kind, column: int, folds: list[int], merges: bool) -> None:
        """row: of zeros, for kernels. kind: the values'. column: where they are in messages. folds: which count them,
        at most MOST_FLAGS. merges: whether slots can be merged into others."""
        self._row, self._kind, self._folds = row, kind, np.array(folds, np.int64)
        self._texts = TextNumbers() if kind.is_text else None
        row.what = what_stands_for(kind, self._texts)
        links = _FIRST if merges else 0
        self._links = np.zeros((links, Link.size), np.int64)
        self._free_links, self._heads = np.zeros(links, np.int64), np.zeros(links, np.int64)
        self._cells, self._dense = np.zeros(_FIRST, np.int64), np.zeros(0, np.uint8)
        self._owners, self._pairs, self._free = (np.zeros(_FIRST, np.int64) for _ in range(3))
        self._values: Keys | None = None
        self._old: tuple[np.ndarray, ...] | None = None  # the words and arrays of the form that pairs move from
        row.column, row.folds, row.flag_bits = column, address_of(self._folds), len(folds)
        row.least_value, row.greatest_value = MOST, LEAST
        self._link()

    def _link(self) -> None:
        row = self._row
        row.cells, row.cell_count = address_of(self._cells), len(self._cells)
        row.dense_at, row.dense_room = address_of(self._dense), len(self._dense)
        row.owners, row.owners_length = address_of(self._owners), len(self._owners)
        row.pairs, row.free_owners, row.owners_room = (
            address_of(self._pairs), address_of(self._free), len(self._pairs)
        )  # fmt: skip
        if len(self._links):
            row.links, row.links_room = address_of(self._links), len(self._links)
            row.heads, row.free_links = address_of(self._heads), address_of(self._free_links)
        if self._values is not None:
            row.is_numbered = 1
            link_numbers(row.values, self._values)

    def grow(self, limit: int) -> None:
        """Make room for slots below `limit`, and for one more value."""
        row = self._row
        self._owners = grown(self._owners, limit)
        if len(self._links):
            self._heads = grown(self._heads, len(self._owners))
            links = row.linked.limit - row.linked.free + _MORE_LINKS
            self._links, self._free_links = grown(self._links, links, axis=0), grown(self._free_links, links)
        if self._texts is not None:
            self._texts.grow(self._in_use)
        if self._values is not None:
            self._values.grow()
        if row.old and (row.misfit or not rehash_pairs(row.words, 0)):
            self._finish()
        if row.free == 0 and row.limit == len(self._pairs):
            self._pairs, self._free = (grown(each, len(each) + 1) for each in (self._pairs, self._free))
            self._link()
            if 2 * row.dead >= row.live > 0 and not row.old:
                self._arrange()
        self._link()
        is_settled = not row.old
        if row.misfit or (len(self._pairs) - 1) >> (63 - row.flag_bits - row.value_bits) > 0:
            self._finish()
            row.misfit = 0
            self._arrange()
        elif len(self._dense):
            room = len(self._pairs) << row.value_bits
            if len(self._dense) < room and not (is_settled and not self._is_dense(row.live - row.dead)):
                self._dense = grown(self._dense, room)
            elif len(self._dense) < room:
                self._arrange()
        elif FULL_OF * row.live >= FULL * len(self._cells):
            if not row.old and (2 * row.dead >= row.live or self._is_dense(row.live - row.dead)):
                self._arrange()
            else:
                self._double()
        self._link()

    def _double(self) -> None:
        """Have twice as many cells."""
        settle_all(self._cells, self._row.words)
        self._cells = grown(self._cells, len(self._cells) + 1)
        begin_settling(self._cells, self._row.words)
        self._link()

    def out(self, slots: np.ndarray) -> tuple[Batch, np.ndarray, np.ndarray]:
        """The values of slots, each named once, of which there are none then: the values, a column, the flags of each
        and the position of its slot, int64 (values,)."""
        row = self._row
        slots_here = np.flatnonzero(slots < len(self._owners))
        owners = self._owners[slots[slots_here]] - 1
        slots_here, owners = slots_here[owners >= 0], owners[owners >= 0]
        values, flags, which = self._listed(owners)
        if self._texts is not None:
            values = self._texts.texts_of(values)
        schema, heaps = Schema.of({"value": str(self._kind)}), (heap_of_words(),) if self._texts is not None else ()
        column = Batch.wrap(schema, (values.view(self._kind.dtype),), len(values), heaps)
        row.dead += len(values)
        self._pairs[owners] = GONE
        self._owners[slots[slots_here]] = 0
        if len(self._links):
            let_links_go(row.words, slots[slots_here])
        return column.copy() if heaps else column, flags, slots_here[which]  # what the set has may move

    def _listed(self, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The values of owners, in words, the flags of each and the position of its owner: int64 (values,)."""
        row = self._row
        self._finish()
        count = int(self._pairs[owners].sum())
        order = np.full(row.limit, -1, np.int64)
        order[owners] = np.arange(len(owners))
        least, greatest, base = row.least_value, row.greatest_value, row.value_base
        first, last = max(least - base, 0), min(greatest - base, (1 << row.value_bits) - 1)
        which, values, flags = (np.empty(count, np.int64) for _ in range(3))
        if count:
            found = list_pairs(row.words, owners, order, first, last, which, values, flags)
            assert found == count
        if self._values is not None:
            values = self._values.words(0)[values]
        return values, flags, which

    def _in_use(self) -> np.ndarray:
        """The values that any slot has, in words: int64 of any length."""
        return self._listed(np.flatnonzero(self._pairs[: self._row.limit] > 0))[0]

    def words_of(self, column: np.ndarray, heap: np.ndarray | None) -> np.ndarray:
        """Others' values, int64 (rows,), texts in a heap, as words here, until the next `grow`: int64 (rows,)."""
        if self._texts is None:
            return np.ascontiguousarray(column)
        assert heap is not None
        return self._texts.numbers_of(Strings(np.ascontiguousarray(column), heap), self._in_use)

    def _is_dense(self, pairs: int) -> bool:
        row = self._row
        span = row.greatest_value - row.least_value + 1
        return (
            pairs >= _LEAST_DENSE
            and row.limit * span <= _SPREAD * pairs
            and len(self._pairs) << self._dense_bits() <= _MOST_DENSE
        )

    def _arrange(self) -> None:
        """Have another form for all pairs without those of owners that are gone, packed so that all that came fit, to
        which they begin to move."""
        row, before = self._row, ValueSet(self._row.words.copy())
        pairs = self._pairs_there()
        if self._values is not None or not self._fit(pairs):
            row.words[:] = before.words
            self._enter_numbers()
            return
        self._old = before.words, self._cells, self._dense
        if len(self._dense):
            least, greatest, base = before.least_value, before.greatest_value, before.value_base
            row.first_part = max(least - base, 0)
            row.last_part = min(greatest - base, (1 << before.value_bits) - 1)
        row.old, row.scan = before.address, row.first_part if len(self._dense) else 0
        begin_to_leave(row.words)
        self._begin_form(pairs)
        row.live = 0
        if before.live <= _FEW:
            self._finish()

    def _pairs_there(self) -> int:
        """How many pairs owners have. Counted anew: `dead` has pairs, too, of owners that went before these had moved,
        which are in no form now."""
        counts = self._pairs[: self._row.limit]
        return int(counts[counts > 0].sum())

    def _begin_form(self, pairs: int) -> None:
        """Have an empty form with room for so many pairs, and half as many more."""
        row = self._row
        is_dense = self._is_dense(pairs)
        cells = _FIRST
        while not is_dense and 2 * FULL * cells <= 3 * FULL_OF * pairs:
            cells *= 2
        self._cells, self._dense = grown(_NO_CELLS, cells), np.zeros(0, np.uint8)  # so it grows without a copy
        if is_dense:
            self._dense = grown(self._dense, len(self._pairs) << row.value_bits)
        row.dead = row.half = row.split = 0
        self._link()

    def _finish(self) -> None:
        """Have what is left of the pairs that move there at once."""
        row = self._row
        if row.old:
            most = self._pairs_there() + row.dead  # of which some have moved
            while not len(self._dense) and FULL_OF * most >= FULL * len(self._cells):
                self._double()
            rehash_pairs(row.words, _ALL)
            row.old, self._old = 0, None
            free_owners(row.words)

    def _enter_numbers(self) -> None:
        """Enter all pairs anew, their values numbered."""
        row = self._row
        cells = self._cells[self._cells != 0]
        tags, flags = cells >> row.flag_bits, cells & ((1 << row.flag_bits) - 1)
        owners, values = tags >> row.value_bits, tags & ((1 << row.value_bits) - 1)
        if len(self._dense):
            limit = row.limit
            first, last = row.least_value - row.value_base, row.greatest_value - row.value_base
            first = max(first, 0)
            used = self._dense[: limit << row.value_bits].reshape(limit, -1)[:, first : last + 1]
            owners, values = np.nonzero(used)
            values, flags = values + first, used[owners, values].astype(np.int64)
        there = self._pairs[owners] >= 0
        owners, values, flags = owners[there], values[there] + row.value_base, flags[there]
        begin_to_leave(row.words)
        free_owners(row.words)
        if self._values is None:
            self._values = Keys(Schema("value"), ("value",))
            values = self._values.slots_of(values)
            row.least_value = 0
        else:
            known = self._values.live()
            self._values.remove(known[~np.isin(known, values)])
        row.greatest_value = max(self._values.limit, 1, row.greatest_value if row.is_numbered else 0)
        if not self._fit(len(values)):
            raise MemoryError("too many values of too many keys to count in one worker; have more workers")
        self._begin_form(len(values))
        row.live = len(values)
        _enter(row.words, owners << row.value_bits | (values - row.value_base), flags)

    def _bits_of_values(self) -> int:
        """How many bits values can have, above flags and below as many owners as there is room for."""
        return 63 - self._row.flag_bits - max(_OWNER_BITS, len(self._pairs).bit_length())

    def _dense_bits(self) -> int:
        """How many bits values have in the dense form: a few more than those that came."""
        row = self._row
        return min((row.greatest_value - row.least_value).bit_length() + _SPARE_BITS, self._bits_of_values())

    def _fit(self, pairs: int) -> bool:
        """Choose how the values of so many pairs are packed, with room for others; False if bits are few."""
        row = self._row
        least, greatest = row.least_value, row.greatest_value
        if least > greatest:
            return True
        bits, room = (greatest - least).bit_length(), self._bits_of_values()
        if bits + 2 > room:
            return False
        # Cells take any bits, so what is free is shared with owners: pairs are seldom to be packed otherwise.
        row.value_bits = bits = self._dense_bits() if self._is_dense(pairs) else (bits + room + 1) // 2
        row.value_base = max(least - (1 << (bits - 3)), LEAST)
        return True
