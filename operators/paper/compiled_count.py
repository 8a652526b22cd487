"""word_count in the worker's inner loop: the same kernels over the same rows, as entries that a driver calls."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Record,
    address_of,
    column_of,
    entry,
    new_message,
    rows_of,
    words_at,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, give, own_record, times_asked
from tokenring.operators.migrate import Table
from tokenring.operators.paper.counted import BEGIN, END, Counted, count, finished, merge
from tokenring.operators.state import WordKeys, cells_of, counts_of, link_keys, tags_of


class Counting(Record):
    """`totals`: by word. `times`, `kept_words`: of the rows that wait, for `room` of them, from where to where `bounds`
    says. `wanted`: how many rows there was no room for; `start`: the row to go on with where there was no room for its
    word, `filled`: the message that is being filled then. `word`, `time`: their columns."""

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
    bounds = words_at(own.bounds, 2)
    return words_at(own.times, own.room)[bounds[BEGIN]] if bounds[BEGIN] < bounds[END] else COMPLETE


@entry
def _take(world: int, me: int) -> int:
    """Let rows wait."""
    state, own = driven(world, me), own_record(world, me, Counting)
    message, bounds = state.message, words_at(own.bounds, 2)
    if bounds[END] + rows_of(message) > own.room:
        own.wanted = rows_of(message)
        return NEEDS_ROOM
    kept_times, kept_words = words_at(own.times, own.room), words_at(own.kept_words, own.room)
    times, words = column_of(message, own.time), column_of(message, own.word)
    if not merge(kept_times, kept_words, bounds, times, words):
        order = np.argsort(times, kind="mergesort")
        merge(kept_times, kept_words, bounds, times[order], words[order])
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
    bounds, times = words_at(own.bounds, 2), words_at(own.times, own.room)
    begin, stop = bounds[BEGIN], finished(times, bounds, state.upto)
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
    bounds[BEGIN] = stop
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
        own.totals, own.bounds = address_of(state.totals), address_of(state.bounds)
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
