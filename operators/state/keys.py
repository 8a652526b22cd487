"""Keys: a worker's numbering of keys, of one column or several, of any kind, for operators' keyed state."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Batch, Kind, Schema, SchemaError
from tokenring.engine.columns import names_of, require_schema
from tokenring.engine.raw import address_of
from tokenring.operators.state.arithmetic import MOST
from tokenring.operators.state.cells import FULL, FULL_OF, MOST_SLOTS
from tokenring.operators.state.floats import NAN, canonical_floats
from tokenring.operators.state.key_table import KeyTable
from tokenring.operators.state.keys_kernels import KeyCounts, move_texts, number, remove
from tokenring.operators.state.tables import FIRST_SLOTS, grown
from tokenring.operators.state.tags import SOURCE_WORDS, TOLD_WRONG, Packing, fit, tag_keys

_FIRST_BYTES = 1024
_NONE = np.zeros(0, np.int64)
_NO_SOURCES = np.zeros((0, SOURCE_WORDS), np.int64)


def _as_words(column: np.ndarray, kind: Kind) -> np.ndarray:
    """A physical column as the int64 words that stand for its values as keys: equal values, equal words."""
    column = np.ascontiguousarray(column).view(np.int64)
    if kind.is_float:
        words = np.empty(len(column), np.int64)
        canonical_floats(column, kind.null if kind.nullable else NAN, words)
        return words
    return column


class Keys(KeyTable):
    """Keys seen so far and not removed, each with a slot: an int64 below `limit`, dense from 0 while none are removed.

    Values are equal where their words are: null is equal to null. Memory: 20 to 32 bytes a key of one number, 12 to 24
    where they lie close together; 8 more for each column of several, and each text once; what removed keys leave is
    used again. Numbers close together say where the slot is, without a hash, and so does what columns are packed to, or
    a column that has told all keys apart so far. However many there are, one more takes no longer than another, but for
    the pages that it is the first to write to.
    """

    __slots__ = ("_by", "_free", "_heap", "_packing", "_texts", "fresh", "fresh_rows", "schema")

    def __init__(self, schema: Schema, by: Sequence[str]) -> None:
        """by: the columns of `schema` that make a key; SchemaError if there are none, or one is not there."""
        require_schema("Keys", schema)
        self._by = names_of(by)
        if not self._by:
            raise SchemaError("keys need at least one column")
        self.schema = schema.select(self._by)
        self._texts = np.array([at for at, kind in enumerate(self.schema.kinds) if kind.is_text], np.int64)
        self._exact = len(self._by) == 1 and not len(self._texts)
        self._meta = np.zeros(KeyCounts.size, np.int64)
        self._counts = KeyCounts(self._meta)
        self.fresh = _NONE
        """The slots that the last call of `slots` added, in the order of rows: int64 (added,)."""
        self.fresh_rows = _NONE
        """The row that added each of them: int64 (added,)."""
        self.clear()

    def clear(self) -> None:
        """Forget all keys, and give back the memory."""
        self._meta[:] = 0
        self._clear_table()
        self._packing = Packing.new_table(len(self._by))
        if len(self._by) > 1 and not len(self._texts):
            self._counts.packing_at = address_of(self._packing)
        self._stored = np.empty((FIRST_SLOTS, len(self._by)), np.int64)
        self._tags = self._stored.reshape(-1) if self._exact else np.empty(FIRST_SLOTS, np.int64)
        self._free = np.empty(FIRST_SLOTS, np.int64)
        self._heap = np.empty(_FIRST_BYTES if len(self._texts) else 0, np.uint8)
        self._counts.least_tag, self._counts.greatest_tag = MOST, ~MOST

    def slots(self, batch: Batch, names: Sequence[str] | None = None) -> np.ndarray:
        """The slot of each row's key, int64 (rows,); keys that are new get one.

        names: the key's columns in this batch, of the same kinds, if they are called otherwise.
        """
        return self._number(batch, self._by if names is None else names, True)

    def slots_of(self, words: np.ndarray) -> np.ndarray:
        """The slot of each key, int64 (rows,), where a key is one column that is no text: the quick way of `slots`,
        which leaves `fresh` as it was. words: int64 (rows,), from `Batch.words`. SchemaError for other keys.
        """
        if not self._exact:
            raise SchemaError(f"slots_of takes keys of one column that is no text, not {self.schema!r}: use slots")
        slots, fresh, fresh_rows = (np.empty(len(words), np.int64) for _ in range(3))
        self._counts.fresh = 0
        self._number_words(words, _NONE, _NO_SOURCES, True, slots, fresh, fresh_rows)
        return slots

    @property
    def table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `slot_of` takes in a kernel, before the key: for keys as in `slots_of` that are never removed. Where it
        finds no room, `grow` makes some; slots are below `capacity` until then."""
        return self._cells, self._tags, self._meta

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What `number` and `drop_slot` take in a kernel, for keys without text: cells, stored, tags, free and meta.
        Where there is no room, `grow` makes some."""
        return self._cells, self._stored, self._tags, self._free, self._meta

    @property
    def capacity(self) -> int:
        """The length that arrays by slot need where kernels add keys."""
        return len(self._tags)

    def find(self, batch: Batch, names: Sequence[str] | None = None) -> np.ndarray:
        """The slot of each row's key, int64 (rows,); -1 where the key is not known."""
        return self._number(batch, self._by if names is None else names, False)

    def _number(self, batch: Batch, names: Sequence[str], add: bool) -> np.ndarray:
        rows = batch.rows
        slots = np.empty(rows, np.int64)
        fresh, fresh_rows = (np.empty(rows, np.int64), np.empty(rows, np.int64)) if add else (_NONE, _NONE)
        positions = [batch.schema.position(name) for name in names]
        columns = [_as_words(batch.columns[at], kind) for at, kind in zip(positions, self.schema.kinds, strict=True)]
        if self._exact:
            wanted, made, sources = columns[0], _NONE, _NO_SOURCES
        else:
            wanted = made = np.empty(rows, np.int64)
            sources = np.zeros((len(names), SOURCE_WORDS), np.int64)
            for at, (position, kind, words) in enumerate(zip(positions, self.schema.kinds, columns, strict=True)):
                heap = _address(batch.heaps[position]) if kind.is_text else 0
                sources[at] = address_of(words), heap, kind.is_text
        self._counts.fresh = 0
        self._number_words(wanted, made, sources, add, slots, fresh, fresh_rows)
        added = self._counts.fresh
        self.fresh, self.fresh_rows = fresh[:added], fresh_rows[:added]
        return slots

    def _number_words(
        self, wanted: np.ndarray, made: np.ndarray, sources: np.ndarray, add: bool, *found: np.ndarray
    ) -> None:
        """found: what `number` writes to: slots, fresh and fresh_rows."""
        done = 0
        while True:
            done = number(
                self._cells, self._stored, self._tags, self._free, self._meta, sources,
                _address(self._heap), len(self._heap), wanted, made, done, add, *found,
            )  # fmt: skip
            if done == len(wanted):
                break
            self.grow()
        if self._counts.shrinks:
            self._shrink()

    def grow(self, behind: bool = False) -> None:
        """Make room for one more key, at least. behind: kernels do not use places again (`slot_of`)."""
        counts = self._counts
        if counts.misfit:
            self._fit()
            return
        if counts.shrinks:
            self._shrink()
        if counts.extends:
            counts.extends = 0
            self._have_dense(counts.dense_base, 2 * counts.dense_room)
        elif FULL_OF * (counts.live - counts.dense_live) >= (FULL + (counts.to_rehash > 0)) * len(self._cells):
            self._more_cells()
        if (counts.free == 0 or behind) and counts.limit == len(self._tags):
            if counts.limit >= MOST_SLOTS:
                raise MemoryError(f"more than {MOST_SLOTS} keys in one worker; have more workers")
            self._stored = grown(self._stored, counts.limit + 1, None, axis=0)
            self._tags = self._stored.reshape(-1) if self._exact else grown(self._tags, counts.limit + 1, None)
            self._free = grown(self._free, counts.limit + 1, None)
        if counts.text + counts.needed > len(self._heap):
            self._heap = grown(self._heap, counts.text + counts.needed, None)

    def _fit(self) -> None:
        """Pack keys of several columns so that those that came fit as well, and are told apart, or hash them if that
        cannot be."""
        live = self.live()
        words = np.ascontiguousarray(self._stored[live].T)
        least, greatest = self._packing["least"].copy(), self._packing["greatest"].copy()
        if len(live):
            least, greatest = np.minimum(least, words.min(axis=1)), np.maximum(greatest, words.max(axis=1))
        if self._counts.told_by:
            self._counts.told_by = TOLD_WRONG
        fit(self._meta, least, greatest)
        self._counts.misfit = 0
        tags = np.empty(len(live), np.int64)
        tag_keys(words, self._meta, tags)
        self._tags[live] = tags
        self._counts.least_tag, self._counts.greatest_tag = tags.min(initial=MOST), tags.max(initial=~MOST)
        self._hash()

    def remove(self, slots: np.ndarray) -> None:
        """Forget live keys, each named once: int64 (keys,). Their slots are handed out again."""
        slots = np.ascontiguousarray(slots)
        remove(self._cells, self._stored, self._tags, self._free, self._meta, self._texts, slots)
        counts = self._counts
        if counts.dead > _FIRST_BYTES and 2 * counts.dead > counts.text:
            self._compact()

    def _compact(self) -> None:
        """Move the texts of live keys to a heap of their own. The old one stays with the batches that refer to it."""
        counts = self._counts
        heap, at = np.empty(counts.text - counts.dead + _FIRST_BYTES, np.uint8), 0
        live = self.live()
        for column in self._texts.tolist():
            at = move_texts(self._stored, column, live, _address(self._heap), _address(heap), at)
        self._heap = heap
        counts.text, counts.dead = at, 0

    @property
    def limit(self) -> int:
        """Every slot handed out so far is less: the length that arrays by slot need."""
        return self._counts.limit

    def __len__(self) -> int:
        return self._counts.live

    def words(self, position: int) -> np.ndarray:
        """One key column's words by slot, int64 (limit,); what stands at slots that are not live means nothing."""
        return self._stored[: self.limit, position]

    def columns(self, slots: np.ndarray) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray | None, ...]]:
        """The keys of live slots, as `Batch.wrap` takes them: columns of shape (len(slots),), and heaps."""
        columns = tuple([self._stored[slots, at].view(dtype) for at, dtype in enumerate(self.schema.dtypes)])
        heaps = tuple([self._heap if kind.is_text else None for kind in self.schema.kinds])
        return columns, heaps

    def batch(self, slots: np.ndarray) -> Batch:
        """The keys of live slots, a row each."""
        columns, heaps = self.columns(slots)
        return Batch.wrap(self.schema, columns, len(slots), heaps if self.schema.has_text else ())


def _address(heap: np.ndarray | None) -> int:
    assert heap is not None
    return address_of(heap)
