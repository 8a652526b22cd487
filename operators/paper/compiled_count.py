"""word_count in the worker's inner loop: the same kernels over the same rows, as entries that a driver calls."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, Schema, kernel
from tokenring.engine.compiled import DONE, NEEDS_ROOM, address_of, column_of, entry, new_message, rows_of, words_at
from tokenring.operators.mechanisms import MADE, MESSAGE, UPTO, CompiledLogic, driven, give, own_words
from tokenring.operators.migrate import Table
from tokenring.operators.paper.counted import BEGIN, END, Counted, count, finished, merge
from tokenring.operators.state import CAPACITY, KEYS_WORDS, cells_of, counts_of, link_keys, tags_of

# Words of its own, behind those of the keys. ROOM: of the rows that wait. WANTED: how many rows there was no room for;
# START: the row to go on with where there was no room for its word, FILLED: the message that is being filled then.
# WORD, TIME: their columns.
TOTALS, TIMES_AT, WORDS_AT, ROOM, BOUNDS, WANTED, START, FILLED, WORD, TIME, OWN_WORDS = range(
    KEYS_WORDS, KEYS_WORDS + 11
)


@kernel
def _least(own):  # type: ignore[no-untyped-def]
    """The least time of the rows that wait."""
    bounds = words_at(own[BOUNDS], 2)
    return words_at(own[TIMES_AT], own[ROOM])[bounds[BEGIN]] if bounds[BEGIN] < bounds[END] else COMPLETE


@entry
def _take(world, me):  # type: ignore[no-untyped-def]
    """Let rows wait."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    message, bounds = state[MESSAGE], words_at(own[BOUNDS], 2)
    if bounds[END] + rows_of(message) > own[ROOM]:
        own[WANTED] = rows_of(message)
        return NEEDS_ROOM
    kept_times, kept_words = words_at(own[TIMES_AT], own[ROOM]), words_at(own[WORDS_AT], own[ROOM])
    times, words = column_of(message, own[TIME]), column_of(message, own[WORD])
    if not merge(kept_times, kept_words, bounds, times, words):
        order = np.argsort(times, kind="mergesort")
        merge(kept_times, kept_words, bounds, times[order], words[order])
    state[MADE] = _least(own)
    return DONE


@entry
def _emit(world, me):  # type: ignore[no-untyped-def]
    """Count the rows of finished times, in one message."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    bounds, times = words_at(own[BOUNDS], 2), words_at(own[TIMES_AT], own[ROOM])
    begin, stop = bounds[BEGIN], finished(times, bounds, state[UPTO])
    if begin == stop:  # the rows that were due have moved away
        state[MADE] = _least(own)
        return DONE
    made = own[FILLED]
    if own[START] == 0:
        made = new_message(world, me, 0, stop - begin)
        column_of(made, 0)[:] = words_at(own[WORDS_AT], own[ROOM])[begin:stop]
        column_of(made, 1)[:] = times[begin:stop]
    done = count(
        cells_of(own, 0), tags_of(own, 0), counts_of(own, 0), words_at(own[TOTALS], own[CAPACITY]),
        column_of(made, 0), own[START], column_of(made, 2),
    )  # fmt: skip
    own[START], own[FILLED] = done, made
    if done < stop - begin:
        own[WANTED] = 0
        return NEEDS_ROOM
    own[START] = 0
    bounds[BEGIN] = stop
    give(world, me, times[begin], made)
    state[MADE] = _least(own)
    return DONE


def compiled_count(
    schema: Schema, word: str, positions: tuple[int, int], moves: Sequence[Table]
) -> CompiledLogic:
    """The logic on one worker. positions: of word and time among the columns that arrive."""
    state = Counted(schema, word)
    words = np.zeros(OWN_WORDS, np.int64)
    words[WORD], words[TIME] = positions

    def link() -> None:
        link_keys(words, 0, state.keys)
        words[TOTALS], words[BOUNDS] = address_of(state.totals), address_of(state.bounds)
        words[TIMES_AT], words[WORDS_AT] = address_of(state.times), address_of(state.words)
        words[ROOM] = len(state.times)

    def make_room() -> None:
        if words[WANTED] > 0:
            state.make_room(int(words[WANTED]))
        else:
            state.grow()
        link()

    link()
    state.offer(moves, link)
    return CompiledLogic(words, _emit, (_take,), late=1, owners=(state,), make_room=make_room)
