"""Remembered: columns that depend on few others, made once for each of their distinct words, then looked up.

Equal words are equal values as long as the column's heap is the same one, and nobody writes into it: so it is behind a
source that maps a file, in which texts that occur often are stored once. Where few words come again, or heaps do not
stay, remembering is given up.
"""

from collections.abc import Callable, Sequence
from weakref import ref

import numpy as np

from tokenring.engine import COLUMN, TABLE, Batch, Schema, Strings, kernel, void
from tokenring.engine.raw import LENGTH_BITS
from tokenring.operators.state import Keys, grown

MOST = 1 << 15
"""Distinct words that are remembered; then all are forgotten."""
_LEAST_USES = 4  # of a word on average, for remembering to go on
_FIRST = 64
_NO_TEXT, _OWN = -2, -1  # where a column of what was made has its text, if not in the heap of the key's column
_FIRST_BYTES = 1 << 12


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
        *("_after", "_before", "_function", "_heap", "_heaps", "_is_off", "_keys", "_made", "_positions", "_shown"),
        *("_sources", "_used", "_uses", "_width", "_words"),
    )

    def __init__(
        self, function: Callable[[Batch], Batch | None], before: Schema, columns: tuple[str, ...], after: Schema
    ) -> None:
        self._function = function
        self._before = before.select(columns)
        self._after = after
        self._width = len(after) - len(before)
        self._positions = [before.position(name) for name in columns]
        self._words = Schema(" ".join([f"word{at}" for at in range(len(columns))]))
        self._is_off = False
        self._forget(())

    def _forget(self, heaps: Sequence[np.ndarray | None]) -> None:
        self._heaps = [None if heap is None else ref(heap) for heap in heaps]  # received ones go when a message does
        self._keys = Keys(self._words, self._words.names)
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
        while not self._is_off and not any([heap is not None and heap.flags.writeable for heap in heaps]):
            known = [None if heap is None else heap() for heap in self._heaps]
            is_same = len(known) == len(heaps) and all([one is heap for one, heap in zip(known, heaps, strict=True)])
            slots = self._slots(batch) if is_same and len(self._keys) <= MOST else None
            if slots is not None and self._sources is not None:
                found = np.empty((self._width, batch.rows), np.int64)
                look_up(self._made, slots, found)
                return self._joined(batch, list(found), [self._heap_of(source, heaps) for source in self._sources])
            self._is_off = self._uses < _LEAST_USES * len(self._keys)
            self._forget(() if self._is_off else heaps)
        made = self._compute(batch.select(self._before))
        return self._joined(batch, list(made.columns), list(made.heaps or (None,) * len(made.columns)))

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
        known = len(self._keys)
        if len(words) == 1:
            slots = self._keys.slots_of(words[0])
        else:
            slots = self._keys.slots(Batch.wrap(self._words, tuple(words), batch.rows))
        self._uses += batch.rows
        new = len(self._keys) - known
        if new:
            rows = np.flatnonzero(slots >= known)
            first = np.empty(new, np.int64)
            first[slots[rows[::-1]] - known] = rows[::-1]
            try:
                made = self._compute(batch.select(self._before).take(first))
            except BaseException:
                self._forget(())  # there are keys without results
                raise
            if not self._add(known, made):
                return None
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
