"""word_count: the rolling count of each word, in order of the rows' times (the paper's 7.2).

Rows are kept in order of time until their times are finished, and each word's count so far."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import (
    COLUMN,
    COMPLETE,
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
from tokenring.engine.arguments import require_flags
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Record,
    Words,
    address_of,
    column_of,
    entry,
    new_message,
    record_at,
    record_of,
    rows_of,
    words_at,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, give, mechanism_of, own_record, times_asked
from tokenring.operators.migrate import Leaving, Table, offer
from tokenring.operators.rows import require_int64, require_other_columns
from tokenring.operators.state import (
    KeyCounts,
    Keys,
    WordKeys,
    cells_of,
    count_upto,
    counts_of,
    grown,
    link_keys,
    require_rows,
    slot_of,
    tags_of,
)
from tokenring.operators.state.moving import KeptWords, KeyedMoves, MovingKeys, WaitingMoves, no_more, word_tables

_FIRST_ROOM = 4096


class Bounds(Record):
    """From where to where the rows stand that wait."""

    begin: int
    end: int


@kernel(boolean(WORDS, WORDS, int64, COLUMN, COLUMN))
def merge(kept_times: Words, kept_words: Words, where: int, times: Words, words: Words) -> bool:
    """Merge rows into those kept, in order of time; False, and nothing done, if they are out of order themselves.

    where: the address of the Bounds of what is kept, with room for the rows behind it. From the back, since what
    arrives mostly belongs there.
    """
    rows = len(times)
    steps_back = 0
    for i in range(1, rows):  # without a way out of the loop, LLVM vectorises it
        steps_back += times[i] < times[i - 1]
    if steps_back > 0:
        return False
    bounds = record_at(where, Bounds)
    begin, end = bounds.begin, bounds.end
    bounds.end += rows
    if end == begin or kept_times[end - 1] <= times[0]:
        kept_times[end : end + rows] = times
        kept_words[end : end + rows] = words
        return True
    old, new, at = end - 1, rows - 1, end + rows - 1
    while new >= 0:
        if old >= begin and kept_times[old] > times[new]:
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


@kernel
def finished(kept_times: Words, bounds: Bounds, upto: int) -> int:
    """Where the rows that are kept end whose times are `upto` or less."""
    low, high = bounds.begin, bounds.end
    if high > low and kept_times[high - 1] <= upto:
        return high
    return low + count_upto(kept_times[low:high], upto)


def counted_tables(word: str, time: str) -> list[Table]:
    """The tables that Counted is as it moves: counts, and rows that wait."""
    schema = Schema.of(dict.fromkeys((word, time), "int64"))
    return [*word_tables(schema.select((word,)), (word,), 1), Table(schema, (word,))]


class Counted:
    """One worker's rows that wait, times and words within `bounds`, and its counts."""

    def __init__(self, schema: Schema, word: str) -> None:
        self.keys = Keys(schema, (word,))
        self.totals = np.zeros(self.keys.capacity, np.int64)
        self.times, self.words = np.empty(_FIRST_ROOM, np.int64), np.empty(_FIRST_ROOM, np.int64)
        self.bounds = Bounds()

    def make_room(self, rows: int) -> None:
        """Move what is kept to the front of arrays that hold it and `rows` more twice over."""
        begin, end = self.bounds.begin, self.bounds.end
        room = max(_FIRST_ROOM, 2 * (end - begin + rows))
        for name in ("times", "words"):
            moved = np.empty(room, np.int64)
            moved[: end - begin] = getattr(self, name)[begin:end]
            setattr(self, name, moved)
        self.bounds.begin, self.bounds.end = 0, end - begin

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
        begin, end = self.bounds.begin, self.bounds.end
        words, times = self.words[begin:end], self.times[begin:end]
        leaves = leaving.words(words)
        gone = words[leaves], times[leaves]
        stay = end - len(gone[0])
        self.words[begin:stay], self.times[begin:stay] = words[~leaves], times[~leaves]
        self.bounds.end = stay
        return Batch.wrap(self._moved.schema, gone, len(gone[0]))

    def arrive(self, rows: Batch) -> Time:
        """See Waiting."""
        words, times = rows.columns
        order = np.argsort(times, kind="stable")
        if self.bounds.end + rows.rows > len(self.times):
            self.make_room(rows.rows)
        merge(self.times, self.words, self.bounds.address, times[order], words[order])
        self._link()
        return int(self.times[self.bounds.begin])


class Counting(Record):
    """`totals`: by word. `times`, `kept_words`: of the rows that wait, for `room` of them, within the Bounds at
    `bounds`. `wanted`: how many rows there was no room for; `start`: the row to go on with where there was no room for
    its word, `filled`: the message that is being filled then. `word`, `time`: their columns."""

    keys: WordKeys
    totals: int
    times: int
    kept_words: int
    room: int
    bounds: int
    wanted: int
    start: int
    filled: int
    word: int
    time: int


@kernel
def _least(own: Counting) -> int:
    """The least time of the rows that wait."""
    bounds = record_at(own.bounds, Bounds)
    return words_at(own.times, own.room)[bounds.begin] if bounds.begin < bounds.end else COMPLETE


@entry
def _take(world: int, me: int) -> int:
    """Let rows wait."""
    state, own = driven(world, me), own_record(world, me, Counting)
    message = state.message
    if record_at(own.bounds, Bounds).end + rows_of(message) > own.room:
        own.wanted = rows_of(message)
        return NEEDS_ROOM
    kept_times, kept_words = words_at(own.times, own.room), words_at(own.kept_words, own.room)
    times, words = column_of(message, own.time), column_of(message, own.word)
    if not merge(kept_times, kept_words, own.bounds, times, words):
        order = np.argsort(times, kind="mergesort")
        merge(kept_times, kept_words, own.bounds, times[order], words[order])
    state.made = _least(own)
    return DONE


@entry
def _ask(world: int, me: int) -> int:
    """Ask for the rows' own times."""
    state, own = driven(world, me), own_record(world, me, Counting)
    times_asked(world, me, rows_of(state.message))[:] = column_of(state.message, own.time)
    return DONE


@entry
def _emit(world: int, me: int) -> int:
    """Count the rows of finished times, in one message."""
    state, own = driven(world, me), own_record(world, me, Counting)
    bounds, times = record_at(own.bounds, Bounds), words_at(own.times, own.room)
    begin, stop = bounds.begin, finished(times, bounds, state.upto)
    if begin == stop:  # the rows that were due have moved away
        state.made = _least(own)
        return DONE
    made = own.filled
    if own.start == 0:
        made = new_message(world, me, 0, stop - begin)
        column_of(made, 0)[:] = words_at(own.kept_words, own.room)[begin:stop]
        column_of(made, 1)[:] = times[begin:stop]
    done = count(
        cells_of(own.keys), tags_of(own.keys), counts_of(own.keys), words_at(own.totals, own.keys.capacity),
        column_of(made, 0), own.start, column_of(made, 2),
    )  # fmt: skip
    own.start, own.filled = done, made
    if done < stop - begin:
        own.wanted = 0
        return NEEDS_ROOM
    own.start = 0
    bounds.begin = stop
    give(world, me, times[begin], made)
    state.made = _least(own)
    return DONE


def compiled_count(
    schema: Schema, word: str, positions: tuple[int, int], moves: Sequence[Table]
) -> CompiledLogic:
    """The logic on one worker. positions: of word and time among the columns that arrive."""
    state = Counted(schema, word)
    own = Counting()
    own.word, own.time = positions

    def link() -> None:
        link_keys(own.keys, state.keys)
        own.totals, own.bounds = address_of(state.totals), state.bounds.address
        own.times, own.kept_words = address_of(state.times), address_of(state.words)
        own.room = len(state.times)

    def make_room() -> None:
        if own.wanted > 0:
            state.make_room(own.wanted)
        else:
            state.grow()
        link()

    link()
    state.offer(moves, link)
    return CompiledLogic(own.words, _emit, (_take,), (_ask,), late=1, owners=(state,), make_room=make_room)


def word_count(
    stream: AnyStream, word: str, time: str, *, local: bool = False, name: str = "word_count"
) -> AnyStream:
    """Rows (word, time, count), int64, one for each input row: how often the word has come up to it, in order of time.

    A row is counted once its time is finished, so what is emitted does not depend on the order of arrival. Exchanged
    by word; `local` counts each worker's rows by themselves instead. Memory: a cell a word, and rows not finished yet.
    SchemaError for columns that are not int64, or may be null.
    """
    require_flags(f"operator {name!r}", local=local)
    require_rows(name, stream)
    results = word, time, "count"
    require_other_columns(name, results)
    require_int64(name, stream.schema, word, time)
    schema = Schema.of(dict.fromkeys(results, "int64"))
    pact = Pipeline() if local else Exchange(word, (word, time))
    way = mechanism_of(stream.scope)
    crossing = stream.schema if local else Schema.of(dict.fromkeys((word, time), "int64"))
    positions = crossing.position(word), crossing.position(time)
    moves = counted_tables(word, time)
    return way.timed(
        name, [(stream, pact)], schema, None, Notify.IF_TOKEN,
        lambda: compiled_count(schema, word, positions, moves), moves,
    )  # fmt: skip
