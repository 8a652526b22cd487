"""Remembered: columns that depend on few others, made once for each of their distinct words, then looked up.

Equal words are equal values as long as the column's heap is the same one, and nobody writes into it: so it is behind a
source that maps a file, in which texts that occur often are stored once. Where few words come again, or heaps do not
stay, remembering is given up.
"""

from collections.abc import Callable, Sequence
from weakref import ref

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, Schema, Strings, int64, kernel, void
from tokenring.engine.raw import LENGTH_BITS
from tokenring.operators.state import grown

MOST = 1 << 15
"""Distinct words that are remembered; then all are forgotten."""
_LEAST_USES = 4  # of a word on average, for remembering to go on
_ROWS = 1 << 14  # that are numbered at once
_CELLS = 1 << 17  # at least twice MOST and _ROWS together
_FIRST = 64
_NO_TEXT, _OWN = -2, -1  # where a column of what was made has its text, if not in the heap of the key's column
_FIRST_BYTES = 1 << 12


@kernel(int64(TABLE, COLUMN, COLUMN, int64, WORDS, WORDS))
def number_words(cells, first, second, known, slots, fresh):  # type: ignore[no-untyped-def]
    """Write to `slots` the number of each row's two words, and to `fresh` the rows whose words are new, which get the
    next numbers after `known`; returns how many. cells: (two words, their number + 1), 0 where there are none; at most
    half of them are taken afterwards. Unlike `Keys`, nothing leaves, grows or is more than words: so it is quicker.
    """
    mask, added = np.uint64(cells.shape[0] - 1), 0
    slot, before, before_second = np.int64(-1), np.int64(0), np.int64(0)
    for row in range(len(first)):
        one, other = first[row], second[row]
        if slot < 0 or one != before or other != before_second:
            mixed = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
            at = (mixed ^ (mixed >> np.uint64(32)) ^ (mixed >> np.uint64(47))) & mask
            while True:
                slot = cells[at, 2] - 1
                if slot < 0:
                    slot = known + added
                    cells[at, 0], cells[at, 1], cells[at, 2] = one, other, slot + 1
                    fresh[added] = row
                    added += 1
                    break
                if cells[at, 0] == one and cells[at, 1] == other:
                    break
                at = (at + np.uint64(1)) & mask
            before, before_second = one, other
        slots[row] = slot
    return added


@kernel(void(TABLE, COLUMN, TABLE))
def look_up(made, slots, found):  # type: ignore[no-untyped-def]
    """Fill a column of `found`, int64 (columns, rows), with what stands in that column of `made`, int64 (slots,
    columns), for each row's slot.
    """
    for column in range(found.shape[0]):
        target = found[column]
        for row in range(len(slots)):
            target[row] = made[slots[row], column]


class Remembered:
    """`Remembered(function, before, columns, after)(batch)` has the batch's columns and those of `function`, which is
    called with rows of the schema `before.select(columns)` and depends on these alone; the schema is `after`.
    """

    __slots__ = (
        *("_after", "_before", "_cells", "_function", "_heap", "_heaps", "_is_off", "_known", "_made", "_positions"),
        *("_shown", "_sources", "_used", "_uses", "_width"),
    )

    def __init__(
        self, function: Callable[[Batch], Batch | None], before: Schema, columns: tuple[str, ...], after: Schema
    ) -> None:
        self._function = function
        self._before = before.select(columns)
        self._after = after
        self._width = len(after) - len(before)
        self._positions = [before.position(name) for name in columns]
        self._is_off = False
        self._forget(())

    def _forget(self, heaps: Sequence[np.ndarray | None]) -> None:
        self._heaps = [None if heap is None else ref(heap) for heap in heaps]  # received ones go when a message does
        self._cells = np.zeros((_CELLS if heaps else 0, 3), np.int64)  # takes memory where it is used
        self._known = 0
        self._made: np.ndarray = np.empty((0, self._width), np.int64)
        self._sources: list[int] | None = None
        self._heap: np.ndarray = np.empty(0, np.uint8)
        self._shown: np.ndarray = self._heap
        self._used = 0
        self._uses = 0

    def __call__(self, batch: Batch) -> Batch | None:
        """The batch with what the function gives for each row; None if it has none."""
        if not batch.rows:
            return None
        heaps = [batch.heaps[at] if batch.heaps else None for at in self._positions]
        if not self._is_off and not any([heap is not None and heap.flags.writeable for heap in heaps]):
            known = [None if heap is None else heap() for heap in self._heaps]
            is_same = len(known) == len(heaps) and all([one is heap for one, heap in zip(known, heaps, strict=True)])
            if not is_same or self._known > MOST:
                self._give_up_or_begin(heaps)
            slots = None if self._is_off else self._slots(batch)
            if slots is not None and self._sources is not None:
                found = np.empty((self._width, batch.rows), np.int64)
                look_up(self._made, slots, found)
                return self._joined(batch, list(found), [self._heap_of(source, heaps) for source in self._sources])
            if not self._is_off:
                self._give_up_or_begin(())
        made = self._compute(batch.select(self._before))
        return self._joined(batch, list(made.columns), list(made.heaps or (None,) * len(made.columns)))

    def _give_up_or_begin(self, heaps: Sequence[np.ndarray | None]) -> None:
        """Forget everything; for ever, if it was of no use."""
        self._is_off = self._uses < _LEAST_USES * self._known
        self._forget(() if self._is_off else heaps)

    def _compute(self, rows: Batch) -> Batch:
        made = self._function(rows)
        assert made is not None, "rows are neither left out nor none"
        return made

    def _heap_of(self, source: int, heaps: Sequence[np.ndarray | None]) -> np.ndarray | None:
        if source == _NO_TEXT:
            return None
        return self._shown if source == _OWN else heaps[source]

    def _joined(self, batch: Batch, columns: list[np.ndarray], heaps: list[np.ndarray | None]) -> Batch:
        """The batch with these columns besides."""
        after = self._after
        dtypes = after.dtypes[len(batch.columns) :]
        made = [words.view(dtype) for words, dtype in zip(columns, dtypes, strict=True)]
        all_heaps = (*(batch.heaps or (None,) * len(batch.columns)), *heaps) if after.has_text else ()
        return Batch.wrap(after, (*batch.columns, *made), batch.rows, all_heaps, batch)

    def _slots(self, batch: Batch) -> np.ndarray | None:
        """The slot of each row's words, whose results are there; None if they cannot be kept."""
        words = [batch.columns[at].view(np.int64) for at in self._positions]
        first, second = words[0], words[-1]
        slots, fresh = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
        for start in range(0, batch.rows, _ROWS):
            if start and self._known > MOST:
                return None
            part = slice(start, start + _ROWS)
            added = number_words(self._cells, first[part], second[part], self._known, slots[part], fresh)
            self._uses += len(slots[part])
            if added:
                try:
                    made = self._compute(batch.select(self._before).take(fresh[:added] + start))
                except BaseException:
                    self._forget(())  # there are words without results
                    raise
                if not self._add(self._known, made):
                    return None
                self._known += added
        return slots

    def _add(self, known: int, made: Batch) -> bool:
        """Keep results of the newest words. The heap that was shown before stays as it was, up to its used bytes.
        False: they are in other heaps than those before."""
        heaps = made.heaps or (None,) * len(made.columns)
        given = [None if heap is None else heap() for heap in self._heaps]
        sources = [_source_of(heap, given) for heap in heaps]
        if self._sources not in (None, sources):
            return False
        self._sources = sources
        count = known + made.rows
        if count > len(self._made):
            self._made = grown(self._made, max(count, _FIRST), None, axis=0)
        for column, (words, heap, source) in enumerate(zip(made.columns, heaps, sources, strict=True)):
            kept = words.view(np.int64)
            if source == _OWN:
                assert heap is not None
                kept = self._copied(Strings(words, heap).compact())
            self._made[known:count, column] = kept
        return True

    def _copied(self, texts: Strings) -> np.ndarray:
        """The words of texts that are put into our heap."""
        words = np.where(texts.words < 0, texts.words, texts.words + (self._used << LENGTH_BITS))
        used = self._used + len(texts.heap)
        if used > len(self._heap) or not self._used:
            larger = np.empty(max(2 * used, _FIRST_BYTES), np.uint8)
            larger[: self._used] = self._heap[: self._used]
            self._heap, self._shown = larger, larger.view()
            self._shown.flags.writeable = False
        self._heap[self._used : used] = texts.heap
        self._used = used
        return words


def _source_of(heap: np.ndarray | None, given: Sequence[np.ndarray | None]) -> int:
    """The column whose heap this is, _OWN if it is none's."""
    if heap is None:
        return _NO_TEXT
    return next((at for at, other in enumerate(given) if other is heap), _OWN)
