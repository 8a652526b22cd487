"""A join's keys in compiled operators: of both sides one numbering; null is equal to nothing."""

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    address_of,
    addresses_of,
    bare_message,
    column_of,
    end_of_message,
    part_of,
    point_to,
    rows_of,
    table_at,
    world_at,
)
from tokenring.operators.folds import gather
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns
from tokenring.operators.state import (
    NUMBERS_WORDS,
    SOURCE_WORDS,
    Keys,
    KeyWords,
    find_by,
    link_numbers,
    number_by,
    word_column,
)
from tokenring.operators.state.moving import MovingKeyWords

# Words behind those of the numbering: the key's columns among themselves, how many, and room for their sources, as
# `number_by` has it; the tables of both sides' columns; by side whether a key may be null.
_BY, _COUNT, _SOURCES, _COLUMNS = range(NUMBERS_WORDS, NUMBERS_WORDS + 4)
_NULLABLE = _COLUMNS + 2
KEYED_WORDS = _NULLABLE + 2
# Words of a column: its position in messages, whether it may be null and the word that says so, and what KeyWords say
# of it.
_POSITION, _MAY_BE_NULL, _NULL, _WHAT = range(4)
_COLUMN_WORDS = 4


@kernel
def _is_null(columns, message, row):  # type: ignore[no-untyped-def]
    for number in range(len(columns)):
        if columns[number, _MAY_BE_NULL] != 0:
            if column_of(message, columns[number, _POSITION])[row] == columns[number, _NULL]:
                return True
    return False


@kernel
def rows_without_key(world, own, at, side, message):  # type: ignore[no-untyped-def]
    """The rows whose key has a null; `at`: the first of the words that `LinkedKeys.link` wrote."""
    rows = rows_of(message)
    if own[at + _NULLABLE + side] == 0:
        return scratch(world, 0)
    columns = table_at(own[at + _COLUMNS + side], own[at + _COUNT], _COLUMN_WORDS)
    found = scratch(world, rows)
    count = 0
    for row in range(rows):
        if _is_null(columns, message, row):
            found[count] = row
            count += 1
    return found[:count]


@kernel
def rows_but(world, rows, without):  # type: ignore[no-untyped-def]
    """The numbers below `rows` that are not in `without`, which ascends."""
    found = scratch(world, rows - len(without))
    passed = 0
    for row in range(rows):
        if passed < len(without) and without[passed] == row:
            passed += 1
        else:
            found[row - passed] = row
    return found


@kernel
def rows_with(world, flags, value):  # type: ignore[no-untyped-def]
    """The rows whose flag has this value."""
    found = scratch(world, len(flags))
    count = 0
    for row in range(len(flags)):
        if flags[row] == value:
            found[count] = row
            count += 1
    return found[:count]


@kernel
def rows_without(world, flags, value):  # type: ignore[no-untyped-def]
    """The rows whose flag has another value."""
    found = scratch(world, len(flags))
    count = 0
    for row in range(len(flags)):
        if flags[row] != value:
            found[count] = row
            count += 1
    return found[:count]


@kernel
def part_at_hand(world, message, start):  # type: ignore[no-untyped-def]
    """The rows of a message from `start` on that are of one time, as a message: a burst is several. 0 behind the last.
    """
    rows = rows_of(message)
    if start >= rows:
        return 0
    end = end_of_message(message, start)
    return message if end - start == rows else part_of(world_at(world), message, start, end)


@kernel
def chosen_rows(world, message, rows):  # type: ignore[no-untyped-def]
    """A message of these rows, at the same time."""
    made = part_of(world_at(world), message, 0, len(rows))
    for column in range(len(addresses_of(made))):
        target = scratch(world, len(rows))
        gather(column_of(message, column), rows, target)
        point_to(made, column, target.ctypes.data)
    return made


@kernel
def _key_message(world, own, at, side, message, add):  # type: ignore[no-untyped-def]
    """The columns of the key, in which equal values are equal words; 0 if there was no room for a text that is new,
    with `add`."""
    columns = table_at(own[at + _COLUMNS + side], own[at + _COUNT], _COLUMN_WORDS)
    keys = bare_message(world_at(world), len(columns), rows_of(message))
    for number in range(len(columns)):
        words = column_of(message, columns[number, _POSITION])
        address = word_column(world, columns[number, _WHAT], words, add)
        if address == 0 and len(words) > 0:
            return 0
        point_to(keys, number, address)
    return keys


@kernel
def number_keys(world, own, at, side, message, slots):  # type: ignore[no-untyped-def]
    """Write the slot of each row's key, of which new ones get one; False if there was no room for all."""
    rows = len(slots)
    keys = _key_message(world, own, at, side, message, True)
    if keys == 0:
        return False
    done, _ = number_by(
        own, at, at + _BY, keys, 0, rows, scratch(world, rows), slots, scratch(world, rows), scratch(world, rows)
    )
    return done == rows


@kernel
def find_keys(world, own, at, side, message, slots):  # type: ignore[no-untyped-def]
    """Write the slot of each row's key, -1 where it is not known or null."""
    keys = _key_message(world, own, at, side, message, False)
    find_by(own, at, at + _BY, keys, scratch(world, len(slots)), slots)
    for row in rows_without_key(world, own, at, side, message):
        slots[row] = -1


class LinkedKeys:
    """The keys of both sides, and the words that say where they are. arriving: the schemas of both sides' messages."""

    def __init__(self, columns: JoinedColumns, arriving: tuple[Schema, Schema]) -> None:
        on = columns.on[LEFT]
        self._key_words = KeyWords(columns.sides[LEFT], on)
        self.keys = Keys(Schema.of(self._key_words.spec), on)
        self.moving = MovingKeyWords(columns.sides[LEFT].select(on), self.keys, self._key_words, on)
        self._by = np.arange(len(columns.on[LEFT]))
        self._sources = np.zeros((len(self._by), SOURCE_WORDS), np.int64)
        self._columns = [np.zeros((len(self._by), _COLUMN_WORDS), np.int64) for _ in arriving]
        for table, schema, names in zip(self._columns, arriving, columns.on, strict=True):
            for row, name, what in zip(table, names, self._key_words.kinds.tolist(), strict=True):
                kind = schema.kind(name)
                row[:] = schema.position(name), kind.nullable, kind.null, what

    def grow(self) -> None:
        """Make room for another key."""
        self._key_words.grow(self.keys)
        self.keys.grow()

    def link(self, words: np.ndarray, at: int) -> None:
        """Write down where the keys are now, in KEYED_WORDS words from `at` on. To be repeated when they have grown."""
        link_numbers(words, at, self.keys)
        words[at + _BY], words[at + _COUNT] = address_of(self._by), len(self._by)
        words[at + _SOURCES] = address_of(self._sources)
        for side in (LEFT, RIGHT):
            words[at + _COLUMNS + side] = address_of(self._columns[side])
            words[at + _NULLABLE + side] = self._columns[side][:, _MAY_BE_NULL].any()
