"""word_count: the rolling count of each word, in order of the rows' times (the paper's 7.2)."""

import numpy as np

from tokenring.engine import (
    COLUMN,
    COMPLETE,
    TABLE,
    WORDS,
    AnyStream,
    Batch,
    Exchange,
    Notify,
    Pipeline,
    Schema,
    Time,
    boolean,
    int64,
    kernel,
)
from tokenring.operators.mechanisms import Give, distinct, mechanism_of
from tokenring.operators.state import Keys, grown, require_rows, slot_of

_FIRST_ROOM = 4096
_BEGIN, _END = range(2)


@kernel(boolean(WORDS, WORDS, WORDS, COLUMN, COLUMN))
def _merge(kept_times, kept_words, bounds, times, words):  # type: ignore[no-untyped-def]
    """Merge rows into those kept, in order of time; False, and nothing done, if they are out of order themselves.

    bounds: int64 (begin, end) of what is kept, with room for the rows behind it. From the back, since what arrives
    mostly belongs there.
    """
    rows = len(times)
    steps_back = 0
    for i in range(1, rows):  # without a way out of the loop, LLVM vectorises it
        steps_back += times[i] < times[i - 1]
    if steps_back > 0:
        return False
    end = bounds[_END]
    bounds[_END] += rows
    if end == bounds[_BEGIN] or kept_times[end - 1] <= times[0]:
        kept_times[end : end + rows] = times
        kept_words[end : end + rows] = words
        return True
    old, new, at = end - 1, rows - 1, end + rows - 1
    while new >= 0:
        if old >= bounds[_BEGIN] and kept_times[old] > times[new]:
            kept_times[at], kept_words[at] = kept_times[old], kept_words[old]
            old -= 1
        else:
            kept_times[at], kept_words[at] = times[new], words[new]
            new -= 1
        at -= 1
    return True


@kernel(int64(TABLE, WORDS, WORDS, WORDS, COLUMN, int64, WORDS))
def _count(cells, tags, meta, totals, words, start, counts):  # type: ignore[no-untyped-def]
    """Count rows from `start` on into `totals`, int64 (slots,); write what each one's word has come to. Returns the row
    at which there was no room for its word, len(words) if all are done."""
    for i in range(start, len(words)):
        slot = slot_of(cells, tags, meta, words[i])
        if slot < 0:
            return i
        totals[slot] += 1
        counts[i] = totals[slot]
    return len(words)


def word_count(
    stream: AnyStream, word: str, time: str, *, local: bool = False, name: str = "word_count"
) -> AnyStream:
    """Rows (word, time, count), int64, one for each input row: how often the word has come up to it, in order of time.

    A row is counted once its time is finished, so what is emitted does not depend on the order of arrival. Exchanged
    by word; `local` counts each worker's rows by themselves instead. Memory: a cell a word, and rows not finished yet.
    """
    require_rows(name, stream)
    schema = Schema.of(dict.fromkeys((word, time, "count"), "int64"))
    pact = Pipeline() if local else Exchange(word, (word, time))
    way = mechanism_of(stream.scope)
    return way.timed(name, [(stream, pact)], schema, lambda: _WordCount(schema, word, time), Notify.IF_TOKEN)


class _WordCount:
    """One worker's part: rows wait, in order of time, until their times are finished."""

    late = 1

    def __init__(self, schema: Schema, word: str, time: str) -> None:
        self._schema = schema
        self._word, self._time = word, time
        self._keys = Keys(schema, (word,))
        self._totals = np.zeros(self._keys.capacity, np.int64)
        self._times, self._words = np.empty(_FIRST_ROOM, np.int64), np.empty(_FIRST_ROOM, np.int64)
        self._bounds = np.zeros(2, np.int64)
        self._view = self._bounds.data
        self.takes = (self._take,)

    def _take(self, batch: Batch) -> Time:
        times, words = batch.words(self._time), batch.words(self._word)
        if self._view[_END] + batch.rows > len(self._times):
            self._make_room(batch.rows)
        if not _merge(self._times, self._words, self._bounds, times, words):
            order = np.argsort(times, kind="stable")
            _merge(self._times, self._words, self._bounds, times[order], words[order])
        return self.least()

    def _make_room(self, rows: int) -> None:
        """Move what is kept to the front of arrays that hold it and `rows` more twice over."""
        begin, end = self._bounds.tolist()
        room = max(_FIRST_ROOM, 2 * (end - begin + rows))
        for name in ("_times", "_words"):
            moved = np.empty(room, np.int64)
            moved[: end - begin] = getattr(self, name)[begin:end]
            setattr(self, name, moved)
        self._bounds[:] = 0, end - begin

    def advance(self, frontier: Time) -> None:
        """Rows wait for nothing but their own times."""

    def least(self) -> Time:
        """The least time of the rows that wait."""
        begin, end = self._view
        return int(self._times[begin]) if begin < end else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Count the rows of finished times, in one message."""
        begin, end = self._view
        stop = end if self._times[end - 1] <= upto else begin + int(self._times[begin:end].searchsorted(upto, "right"))
        times, words = self._times[begin:stop].copy(), self._words[begin:stop].copy()
        counts = np.empty(stop - begin, np.int64)
        done = _count(*self._keys.table, self._totals, words, 0, counts)
        while done < len(words):
            self._keys.grow()
            self._totals = grown(self._totals, self._keys.capacity)
            done = _count(*self._keys.table, self._totals, words, done, counts)
        self._view[_BEGIN] = stop
        give(int(times[0]), Batch.wrap(self._schema, (words, times, counts), stop - begin))
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The rows' own times."""
        return distinct(batch.words(self._time))
