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
from tokenring.operators.state import HashIndex, require_rows, slot_of

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


@kernel(int64(TABLE, WORDS, WORDS, WORDS, WORDS, WORDS, int64, TABLE, int64))
def _count(cells, size, totals, kept_times, kept_words, bounds, upto, out, row):  # type: ignore[no-untyped-def]
    """Count the kept rows up to a time into `totals`, int64 (slots,); write each with what its word has come to into
    `out`, int64 (3, rows), from `row` on. Returns the next row; stops early when the index is full."""
    begin = bounds[_BEGIN]
    stop = begin
    while stop < bounds[_END] and kept_times[stop] <= upto:
        stop += 1
    words, times, counts = out[0], out[1], out[2]
    while begin < stop:
        block = min(stop - begin, cells.shape[0] // 2 - size[0])  # each row adds one key at the most
        if block <= 0:
            break
        for i in range(block):
            word = kept_words[begin + i]
            slot = slot_of(cells, size, word)
            totals[slot] += 1
            words[row + i], times[row + i], counts[row + i] = word, kept_times[begin + i], totals[slot]
        begin += block
        row += block
    bounds[_BEGIN] = begin
    return row


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
        self._index = HashIndex()
        self._totals = np.zeros(self._index.capacity, np.int64)
        self._times, self._words = np.empty(_FIRST_ROOM, np.int64), np.empty(_FIRST_ROOM, np.int64)
        self._out = np.empty((3, _FIRST_ROOM), np.int64)
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
        first, index, rows = int(self._times[begin]), self._index, 0
        if end - begin > self._out.shape[1]:
            self._out = np.empty((3, 2 * (end - begin)), np.int64)
        while True:
            rows = _count(
                index.cells, index.size, self._totals, self._times, self._words, self._bounds, upto, self._out, rows
            )
            if not index.reserve(1):  # not full: all were counted
                break
            self._totals = np.concatenate([self._totals, np.zeros(index.capacity - len(self._totals), np.int64)])
        words, times, counts = self._out[:, :rows].copy()
        give(first, Batch.wrap(self._schema, (words, times, counts), rows))
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The rows' own times."""
        return distinct(batch.words(self._time))
