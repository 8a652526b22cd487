"""word_count: the rolling count of each word, in order of the rows' times (the paper's 7.2)."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, AnyStream, Batch, Exchange, Notify, Pipeline, Schema, Time
from tokenring.operators.mechanisms import Give, distinct, mechanism_of
from tokenring.operators.migrate import Table
from tokenring.operators.paper.compiled_count import compiled_count
from tokenring.operators.paper.counted import BEGIN, END, Counted, count, counted_tables, finished, merge
from tokenring.operators.state import require_rows


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
    crossing = stream.schema if local else Schema.of(dict.fromkeys((word, time), "int64"))
    positions = crossing.position(word), crossing.position(time)
    moves = counted_tables(word, time)
    return way.timed(
        name, [(stream, pact)], schema, lambda: _WordCount(schema, word, time, moves), Notify.IF_TOKEN,
        lambda: compiled_count(schema, word, positions, moves), moves,
    )  # fmt: skip


class _WordCount:
    """One worker's part: rows wait, in order of time, until their times are finished."""

    late = 1

    def __init__(self, schema: Schema, word: str, time: str, moves: Sequence[Table]) -> None:
        self._schema = schema
        self._word, self._time = word, time
        self._state = Counted(schema, word)
        self._state.offer(moves)
        self._view = self._state.bounds.data
        self.takes = (self._take,)

    def _take(self, batch: Batch) -> Time:
        state = self._state
        times, words = batch.words(self._time), batch.words(self._word)
        if self._view[END] + batch.rows > len(state.times):
            state.make_room(batch.rows)
        if not merge(state.times, state.words, state.bounds, times, words):
            order = np.argsort(times, kind="stable")
            merge(state.times, state.words, state.bounds, times[order], words[order])
        return self.least()

    def advance(self, frontier: Time) -> None:
        """Rows wait for nothing but their own times."""

    def least(self) -> Time:
        """The least time of the rows that wait."""
        begin, end = self._view
        return int(self._state.times[begin]) if begin < end else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Count the rows of finished times, in one message."""
        state = self._state
        begin, stop = self._view[BEGIN], finished(state.times, state.bounds, upto)
        if begin == stop:  # the rows that were due have moved away
            return self.least()
        times, words = state.times[begin:stop].copy(), state.words[begin:stop].copy()
        counts = np.empty(stop - begin, np.int64)
        done = count(*state.keys.table, state.totals, words, 0, counts)
        while done < len(words):
            state.grow()
            done = count(*state.keys.table, state.totals, words, done, counts)
        self._view[BEGIN] = stop
        give(int(times[0]), Batch.wrap(self._schema, (words, times, counts), stop - begin))
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The rows' own times."""
        return distinct(batch.words(self._time))
