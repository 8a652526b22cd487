"""Remembered: columns that depend on few others, made once for each of their distinct words, then looked up.

Equal words are equal values as long as the column's heap is the same one, and nobody writes into it: so it is behind a
source that maps a file, in which texts that occur often are stored once. Where few words come again, or heaps do not
stay, remembering is given up.
"""

from collections.abc import Callable, Sequence
from weakref import ref

import numpy as np

from tokenring.engine import Batch, Schema, Strings
from tokenring.engine.columns import lasts
from tokenring.engine.compiled import heap_of_words
from tokenring.engine.raw import LENGTH_BITS
from tokenring.operators.expressions.stages import CELLS, LEAST_USES, MOST_KEYS, ROWS_AT_ONCE, look_up, number_words
from tokenring.operators.state import grown

MOST = MOST_KEYS
"""Distinct words that are remembered; then all are forgotten."""
_FIRST = 64
_NO_TEXT, _OWN = -2, -1  # where a column of what was made has its text, if not in the heap of the key's column
_FIRST_BYTES = 1 << 12


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
        self._cells = np.zeros((CELLS if heaps else 0, 3), np.int64)  # takes memory where it is used
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
        if not self._is_off and all(map(_stays, heaps, [batch.columns[at] for at in self._positions])):
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
        self._is_off = self._uses < LEAST_USES * self._known
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
        for start in range(0, batch.rows, ROWS_AT_ONCE):
            if start and self._known > MOST:
                return None
            part = slice(start, start + ROWS_AT_ONCE)
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


def _stays(heap: np.ndarray | None, words: np.ndarray) -> bool:
    """Whether equal words into a heap are equal texts, as long as it is there; in the text space texts come and go."""
    if heap is None:
        return True
    return not heap.flags.writeable and (heap is not heap_of_words() or lasts(words, heap))


def _source_of(heap: np.ndarray | None, given: Sequence[np.ndarray | None]) -> int:
    """The column whose heap this is, _OWN if it is none's."""
    if heap is None:
        return _NO_TEXT
    return next((at for at, other in enumerate(given) if other is heap), _OWN)
