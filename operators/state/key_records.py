"""Keys in compiled operators: where a `Keys` has its tables, as a record: of one word, or of any, with removal."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, address_of, column_of, record_at, records_of, table_at, words_at
from tokenring.operators.state.cells import drop_slot
from tokenring.operators.state.keys import Keys
from tokenring.operators.state.keys_kernels import KeyCounts, number
from tokenring.operators.state.tags import SOURCE_WORDS, Source

_COUNTS_WORDS = KeyCounts.size


class WordKeys(Record):
    """Where the tables of a `Keys` of one column that is no text are, and how long."""

    cells: int
    cell_count: int
    tags: int
    capacity: int
    counts: int


@kernel
def cells_of(keys: WordKeys) -> Words:
    """What `slot_of` takes first."""
    return words_at(keys.cells, keys.cell_count)


@kernel
def tags_of(keys: WordKeys) -> Words:
    """What `slot_of` takes second: the keys by slot."""
    return words_at(keys.tags, keys.capacity)


@kernel
def counts_of(keys: WordKeys) -> Words:
    """The words of KeyCounts, which `slot_of` takes third."""
    return words_at(keys.counts, _COUNTS_WORDS)


def link_keys(record: WordKeys, keys: Keys) -> None:
    """Write down where the tables of `keys`, of one column that is no text, are now. To be repeated when they have
    grown."""
    cells, tags, meta = keys.table
    record.words[:] = address_of(cells), len(cells), address_of(tags), len(tags), address_of(meta)


class KeyMap(Record):
    """Where the tables of a `Keys` are, and how long."""

    cells: int
    cell_count: int
    stored: int
    key_columns: int
    places: int
    tags: int
    free: int
    counts: int


class KeyColumns(Record):
    """Which columns of a message are the key: where their numbers are, how many they are, and where there is room for
    SOURCE_WORDS of each."""

    numbers: int
    count: int
    sources: int


@kernel
def key_counts(keys: KeyMap) -> KeyCounts:
    """What is counted of them."""
    return record_at(keys.counts, KeyCounts)


@kernel
def live_of(keys: KeyMap) -> int:
    """How many keys there are."""
    return key_counts(keys).live


@kernel
def key_column(keys: KeyMap, column: int) -> Words:
    """One key column's words, by slot."""
    return table_at(keys.stored, keys.places, keys.key_columns)[:, column]


@kernel
def have_column(sources: Words, column: int, words: Words) -> None:
    """Before `number_rows`, for a key of several columns: their words."""
    source = records_of(sources, Source)[column]
    source.address, source.heap, source.is_text = words.ctypes.data, 0, 0


@kernel
def number_rows(
    keys: KeyMap, sources: Words, wanted: Words, slots: Words, fresh: Words, fresh_rows: Words
) -> tuple[int, int]:
    """Write the slot of each row's key; new ones, and their rows, to `fresh` and `fresh_rows`. wanted: the key, or
    room for as many words if there are several columns, which are in `sources` then; those are of no length otherwise.
    Returns (the row at which there was no room, how many are new)."""
    counts = key_counts(keys)
    counts.fresh = 0
    done = _number(keys, sources, wanted, True, slots, fresh, fresh_rows)
    return done, counts.fresh


@kernel
def _number(
    keys: KeyMap, sources: Words, wanted: Words, add: bool, slots: Words, fresh: Words, fresh_rows: Words
) -> int:
    capacity = keys.places
    return number(
        words_at(keys.cells, keys.cell_count),
        table_at(keys.stored, capacity, keys.key_columns),
        words_at(keys.tags, capacity), words_at(keys.free, capacity),
        words_at(keys.counts, _COUNTS_WORDS),
        sources, 0, 0, wanted, wanted, 0, add, slots, fresh, fresh_rows,
    )  # fmt: skip


@kernel
def number_by(
    keys: KeyMap,
    by: KeyColumns,
    message: int,
    start: int,
    rows: int,
    wanted: Words,
    slots: Words,
    fresh: Words,
    fresh_rows: Words,
) -> tuple[int, int]:
    """`number_rows` of a message's rows from `start` on. wanted: room."""
    numbers = words_at(by.numbers, by.count)
    if by.count == 1:
        none = table_at(by.sources, 0, SOURCE_WORDS)
        key = column_of(message, numbers[0])[start : start + rows]
        return number_rows(keys, none, key, slots[:rows], fresh[:rows], fresh_rows[:rows])
    sources = table_at(by.sources, by.count, SOURCE_WORDS)
    for each in range(by.count):
        have_column(sources, each, column_of(message, numbers[each])[start : start + rows])
    return number_rows(keys, sources, wanted[:rows], slots[:rows], fresh[:rows], fresh_rows[:rows])


@kernel
def find_by(keys: KeyMap, by: KeyColumns, message: int, wanted: Words, slots: Words) -> None:
    """Write the slot of each row's key, -1 where it is not known. wanted: room."""
    numbers = words_at(by.numbers, by.count)
    if by.count == 1:
        none = table_at(by.sources, 0, SOURCE_WORDS)
        _number(keys, none, column_of(message, numbers[0]), False, slots, slots[:0], slots[:0])
        return
    sources = table_at(by.sources, by.count, SOURCE_WORDS)
    for each in range(by.count):
        have_column(sources, each, column_of(message, numbers[each]))
    _number(keys, sources, wanted, False, slots, slots[:0], slots[:0])


@kernel
def forget_slots(keys: KeyMap, slots: Words) -> None:
    """Forget live keys, each named once."""
    capacity = keys.places
    cells, counts = words_at(keys.cells, keys.cell_count), key_counts(keys)
    tags, free = words_at(keys.tags, capacity), words_at(keys.free, capacity)
    for slot in slots:
        drop_slot(cells, tags, free, counts, slot)


def link_numbers(record: KeyMap, keys: Keys) -> None:
    """Write down where the tables of `keys`, without text, are now. To be repeated when they have grown."""
    cells, stored, tags, free, counts = keys.tables
    record.words[:] = (
        *(address_of(cells), len(cells), address_of(stored), stored.shape[1], len(tags), address_of(tags)),
        *(address_of(free), address_of(counts)),
    )


def link_columns(record: KeyColumns, positions: Sequence[int], more: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Write down which columns of messages are the key: those at these positions. Returns what is to be kept as long as
    kernels look there. more: columns beside them that there are to be sources for."""
    numbers, sources = np.array(positions, np.int64), np.zeros((len(positions) + more, SOURCE_WORDS), np.int64)
    record.numbers, record.count, record.sources = address_of(numbers), len(numbers), address_of(sources)
    return numbers, sources
