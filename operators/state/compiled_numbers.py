"""Keys of any words in compiled operators, with removal: where a `Keys` has its tables, as words of a state."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import address_of, column_of, table_at, words_at
from tokenring.operators.state.cells import LIVE, drop_slot
from tokenring.operators.state.keys import Keys
from tokenring.operators.state.keys_kernels import FRESH, META_WORDS, number

CELLS, CELL_COUNT, STORED, KEY_COLUMNS, PLACES, TAGS, FREE_LIST, META = range(8)
NUMBERS_WORDS = 8
SOURCE_WORDS = 3
"""The words for each key column that `number_rows` is given."""


@kernel
def meta_of(own, at):  # type: ignore[no-untyped-def]
    """The counts of keys."""
    return words_at(own[at + META], META_WORDS)


@kernel
def live_of(own, at):  # type: ignore[no-untyped-def]
    """How many keys there are."""
    return meta_of(own, at)[LIVE]


@kernel
def key_column(own, at, column):  # type: ignore[no-untyped-def]
    """One key column's words, by slot."""
    return table_at(own[at + STORED], own[at + PLACES], own[at + KEY_COLUMNS])[:, column]


@kernel
def have_column(sources, column, words):  # type: ignore[no-untyped-def]
    """Before `number_rows`, for a key of several columns: their words."""
    sources[column, 0], sources[column, 1], sources[column, 2] = words.ctypes.data, 0, 0


@kernel
def number_rows(own, at, sources, wanted, slots, fresh, fresh_rows):  # type: ignore[no-untyped-def]
    """Write the slot of each row's key; new ones, and their rows, to `fresh` and `fresh_rows`. wanted: the key, or
    room for as many words if there are several columns, which are in `sources` then; those are of no length otherwise.
    Returns (the row at which there was no room, how many are new)."""
    meta = meta_of(own, at)
    meta[FRESH] = 0
    done = _number(own, at, sources, wanted, True, slots, fresh, fresh_rows)
    return done, meta[FRESH]


@kernel
def _number(own, at, sources, wanted, add, slots, fresh, fresh_rows):  # type: ignore[no-untyped-def]
    capacity = own[at + PLACES]
    return number(
        words_at(own[at + CELLS], own[at + CELL_COUNT]),
        table_at(own[at + STORED], capacity, own[at + KEY_COLUMNS]),
        words_at(own[at + TAGS], capacity), words_at(own[at + FREE_LIST], capacity), meta_of(own, at),
        sources, 0, 0, wanted, wanted, 0, add, slots, fresh, fresh_rows,
    )  # fmt: skip


@kernel
def number_by(own, at, by_at, message, start, rows, wanted, slots, fresh, fresh_rows):  # type: ignore[no-untyped-def]
    """`number_rows` of a message's rows from `start` on. by_at: three words: where the numbers of the key's columns
    are, how many they are, and where there is room for their sources. wanted: room."""
    by = words_at(own[by_at], own[by_at + 1])
    if len(by) == 1:
        none = table_at(own[by_at + 2], 0, SOURCE_WORDS)
        keys = column_of(message, by[0])[start : start + rows]
        return number_rows(own, at, none, keys, slots[:rows], fresh[:rows], fresh_rows[:rows])
    sources = table_at(own[by_at + 2], len(by), SOURCE_WORDS)
    for each in range(len(by)):
        have_column(sources, each, column_of(message, by[each])[start : start + rows])
    return number_rows(own, at, sources, wanted[:rows], slots[:rows], fresh[:rows], fresh_rows[:rows])


@kernel
def find_by(own, at, by_at, message, wanted, slots):  # type: ignore[no-untyped-def]
    """Write the slot of each row's key, -1 where it is not known. by_at, wanted: as `number_by` has them."""
    by = words_at(own[by_at], own[by_at + 1])
    if len(by) == 1:
        none = table_at(own[by_at + 2], 0, SOURCE_WORDS)
        _number(own, at, none, column_of(message, by[0]), False, slots, slots[:0], slots[:0])
        return
    sources = table_at(own[by_at + 2], len(by), SOURCE_WORDS)
    for each in range(len(by)):
        have_column(sources, each, column_of(message, by[each]))
    _number(own, at, sources, wanted, False, slots, slots[:0], slots[:0])


@kernel
def forget_slots(own, at, slots):  # type: ignore[no-untyped-def]
    """Forget live keys, each named once."""
    capacity = own[at + PLACES]
    cells, meta = words_at(own[at + CELLS], own[at + CELL_COUNT]), meta_of(own, at)
    tags, free = words_at(own[at + TAGS], capacity), words_at(own[at + FREE_LIST], capacity)
    for slot in slots:
        drop_slot(cells, tags, free, meta, slot)


def link_numbers(words: np.ndarray, at: int, keys: Keys) -> None:
    """Write down where the tables of `keys`, without text, are now, in NUMBERS_WORDS words from `at` on. To be repeated
    when they have grown."""
    cells, stored, tags, free, meta = keys.tables
    words[at : at + NUMBERS_WORDS] = (
        *(address_of(cells), len(cells), address_of(stored), stored.shape[1], len(tags), address_of(tags)),
        *(address_of(free), address_of(meta)),
    )
