"""What word_count keeps: rows in order of time until their times are finished, and each word's count so far."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, Schema, Time, boolean, int64, kernel
from tokenring.engine.compiled import Words, record_of
from tokenring.operators.migrate import Leaving, Table, offer
from tokenring.operators.state import KeyCounts, Keys, count_upto, grown, slot_of
from tokenring.operators.state.moving import KeptWords, KeyedMoves, MovingKeys, WaitingMoves, no_more, word_tables

_FIRST_ROOM = 4096
BEGIN, END = range(2)


@kernel(boolean(WORDS, WORDS, WORDS, COLUMN, COLUMN))
def merge(kept_times: Words, kept_words: Words, bounds: Words, times: Words, words: Words) -> bool:
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
    end = bounds[END]
    bounds[END] += rows
    if end == bounds[BEGIN] or kept_times[end - 1] <= times[0]:
        kept_times[end : end + rows] = times
        kept_words[end : end + rows] = words
        return True
    old, new, at = end - 1, rows - 1, end + rows - 1
    while new >= 0:
        if old >= bounds[BEGIN] and kept_times[old] > times[new]:
            kept_times[at], kept_words[at] = kept_times[old], kept_words[old]
            old -= 1
        else:
            kept_times[at], kept_words[at] = times[new], words[new]
            new -= 1
        at -= 1
    return True


@kernel(int64(WORDS, WORDS, WORDS, WORDS, COLUMN, int64, WORDS))
def count(cells: Words, tags: Words, meta: Words, totals: Words, words: Words, start: int, counts: Words) -> int:
    """Count rows from `start` on into `totals`, int64 (slots,); write what each one's word has come to. Returns the row
    at which there was no room for its word, len(words) if all are done."""
    for i in range(start, len(words)):
        slot = slot_of(cells, tags, record_of(meta, KeyCounts), words[i])
        if slot < 0:
            return i
        totals[slot] += 1
        counts[i] = totals[slot]
    return len(words)


@kernel(int64(WORDS, WORDS, int64))
def finished(kept_times: Words, bounds: Words, upto: int) -> int:
    """Where the rows that are kept end whose times are `upto` or less."""
    low, high = bounds[BEGIN], bounds[END]
    if high > low and kept_times[high - 1] <= upto:
        return high
    return low + count_upto(kept_times[low:high], upto)


def counted_tables(word: str, time: str) -> list[Table]:
    """The tables that Counted is as it moves: counts, and rows that wait."""
    schema = Schema.of(dict.fromkeys((word, time), "int64"))
    return [*word_tables(schema.select((word,)), (word,), 1), Table(schema, (word,))]


class Counted:
    """One worker's rows that wait, times and words from bounds[BEGIN] to bounds[END], and its counts."""

    def __init__(self, schema: Schema, word: str) -> None:
        self.keys = Keys(schema, (word,))
        self.totals = np.zeros(self.keys.capacity, np.int64)
        self.times, self.words = np.empty(_FIRST_ROOM, np.int64), np.empty(_FIRST_ROOM, np.int64)
        self.bounds = np.zeros(2, np.int64)

    def make_room(self, rows: int) -> None:
        """Move what is kept to the front of arrays that hold it and `rows` more twice over."""
        begin, end = self.bounds.tolist()
        room = max(_FIRST_ROOM, 2 * (end - begin + rows))
        for name in ("times", "words"):
            moved = np.empty(room, np.int64)
            moved[: end - begin] = getattr(self, name)[begin:end]
            setattr(self, name, moved)
        self.bounds[:] = 0, end - begin

    def grow(self) -> None:
        """Make room for another word."""
        self.keys.grow(behind=True)
        self.totals = grown(self.totals, self.keys.capacity)

    def offer(self, moves: Sequence[Table], link: Callable[[], None] = no_more) -> None:
        """Say how it moves; link: called when arrays may be elsewhere."""
        self._moved, self._link = moves[-1], link
        keys = MovingKeys(self.keys, moves[-1].key, in_kernels=True)
        offer(WaitingMoves(KeyedMoves(moves[:-1], keys, KeptWords(self._table), link), self))

    def _table(self, limit: int) -> np.ndarray:
        self.totals = grown(self.totals, max(limit, self.keys.capacity))
        return self.totals.reshape(-1, 1)

    def leave(self, leaving: Leaving) -> Batch:
        """See Waiting."""
        begin, end = self.bounds.tolist()
        words, times = self.words[begin:end], self.times[begin:end]
        leaves = leaving.words(words)
        gone = words[leaves], times[leaves]
        stay = end - len(gone[0])
        self.words[begin:stay], self.times[begin:stay] = words[~leaves], times[~leaves]
        self.bounds[END] = stay
        return Batch.wrap(self._moved.schema, gone, len(gone[0]))

    def arrive(self, rows: Batch) -> Time:
        """See Waiting."""
        words, times = rows.columns
        order = np.argsort(times, kind="stable")
        if self.bounds[END] + rows.rows > len(self.times):
            self.make_room(rows.rows)
        merge(self.times, self.words, self.bounds, times[order], words[order])
        self._link()
        return int(self.times[self.bounds[BEGIN]])
