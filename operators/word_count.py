"""word_count: the rolling count of each word, in order of the rows' times (the paper's 7.2)."""

from heapq import heappop, heappush

import numpy as np

from engine import COLUMN, COMPLETE, TABLE, WORDS, Batch, Exchange, Notify, Pipeline, Schema, Stream, Time, kernel, void
from operators.hash_index import HashIndex, slot_of
from operators.mechanisms import TOKENS, Give, Mechanism, distinct


@kernel(void(TABLE, WORDS, WORDS, COLUMN, WORDS))
def _count(cells, size, totals, words, counts):  # type: ignore[no-untyped-def]
    """Count words into `totals`, int64 (slots,), and write what each has come to."""
    for i in range(len(words)):
        slot = slot_of(cells, size, words[i])
        totals[slot] += 1
        counts[i] = totals[slot]


def word_count(
    stream: Stream, word: str, time: str, *, local: bool = False, name: str = "word_count", way: Mechanism = TOKENS
) -> Stream:
    """Rows (word, time, count), int64, one for each input row: how often the word has come up to it, in order of time.

    A row is counted once its time is finished, so what is emitted does not depend on the order of arrival. Exchanged
    by word; `local` counts each worker's rows by themselves instead. Memory: a cell a word, and rows not finished yet.
    """
    schema = Schema(f"{word} {time} count")
    pact = Pipeline() if local else Exchange(word, (word, time))
    return way.timed(name, [(stream, pact)], schema, lambda: _WordCount(schema, word, time), Notify.IF_TOKEN)


class _WordCount:
    """One worker's part: rows wait, as runs in order of time, until their times are finished."""

    late = 1

    def __init__(self, schema: Schema, word: str, time: str) -> None:
        self._schema = schema
        self._word, self._time = word, time
        self._index = HashIndex()
        self._totals = np.zeros(self._index.capacity, np.int64)
        self._runs: list[tuple[Time, int, np.ndarray, np.ndarray]] = []  # heap of (first time, number, times, words)
        self._number = 0
        self.takes = (self._take,)

    def _take(self, batch: Batch) -> Time:
        times, words = batch[self._time], batch[self._word]
        if batch.rows > 1 and not bool((times[1:] >= times[:-1]).all()):
            order = np.argsort(times, kind="stable")
            times, words = times[order], words[order]
        else:
            times, words = times.copy(), words.copy()
        return self._keep(times, words)

    def _keep(self, times: np.ndarray, words: np.ndarray) -> Time:
        first = int(times[0])
        self._number += 1  # no two alike: arrays are never compared
        heappush(self._runs, (first, self._number, times, words))
        return first

    def advance(self, frontier: Time) -> None:
        """Rows wait for nothing but their own times."""

    def least(self) -> Time:
        """The least time of the rows that wait."""
        return self._runs[0][0] if self._runs else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Count the rows of finished times, in one message."""
        runs = self._runs
        first = runs[0][0]
        pieces = []
        while runs and runs[0][0] <= upto:
            _, _, times, words = heappop(runs)
            if times[-1] > upto:
                cut = int(np.searchsorted(times, upto, side="right"))
                self._keep(times[cut:], words[cut:])
                times, words = times[:cut], words[:cut]
            pieces.append((times, words))
        times, words = pieces[0]
        if len(pieces) > 1:
            times, words = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
            order = np.argsort(times, kind="stable")  # merges what is in order already
            times, words = times[order], words[order]
        if self._index.reserve(len(words)):
            self._totals = np.concatenate([self._totals, np.zeros(self._index.capacity - len(self._totals), np.int64)])
        counts = np.empty(len(words), np.int64)
        _count(self._index.cells, self._index.size, self._totals, words, counts)
        give(first, Batch.wrap(self._schema, (words, times, counts), len(words)))
        return runs[0][0] if runs else COMPLETE

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The rows' own times."""
        return distinct(batch[self._time])
