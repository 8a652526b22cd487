"""A join's keys in compiled operators: of both sides one numbering; null is equal to nothing."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    Record,
    Words,
    address_of,
    bare_message,
    column_of,
    end_of_message,
    part_of,
    point_to,
    records_at,
    room,
    rows_of,
    world_at,
)
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns
from tokenring.operators.state import (
    SOURCE_WORDS,
    KeyColumns,
    KeyMap,
    Keys,
    KeyWords,
    find_by,
    link_numbers,
    number_by,
    word_column,
)
from tokenring.operators.state.moving import MovingKeyWords


class KeyColumn(Record):
    """A column of the key: its position in messages, whether it may be null and the word that says so, and what
    KeyWords say of it."""

    position: int
    may_be_null: int
    null: int
    what: int


class JoinKeys(Record):
    """`by`: the key's columns among themselves. `columns`: by side the address of a KeyColumn for each; `nullable`: by
    side whether a key may be null."""

    numbers: KeyMap
    by: KeyColumns
    columns: Words = room(2)
    nullable: Words = room(2)


@kernel
def _columns_of(keys: JoinKeys, side: int) -> Sequence[KeyColumn]:
    return records_at(keys.columns[side], keys.by.count, KeyColumn)


@kernel
def _is_null(columns: Sequence[KeyColumn], message: int, row: int) -> bool:
    for number in range(len(columns)):
        if columns[number].may_be_null != 0:
            if column_of(message, columns[number].position)[row] == columns[number].null:
                return True
    return False


@kernel
def rows_without_key(world: int, keys: JoinKeys, side: int, message: int) -> Words:
    """The rows whose key has a null."""
    rows = rows_of(message)
    if keys.nullable[side] == 0:
        return scratch(world, 0)
    columns = _columns_of(keys, side)
    found = scratch(world, rows)
    count = 0
    for row in range(rows):
        if _is_null(columns, message, row):
            found[count] = row
            count += 1
    return found[:count]


@kernel
def rows_but(world: int, rows: int, without: Words) -> Words:
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
def rows_with(world: int, flags: Words, value: int) -> Words:
    """The rows whose flag has this value."""
    found = scratch(world, len(flags))
    count = 0
    for row in range(len(flags)):
        if flags[row] == value:
            found[count] = row
            count += 1
    return found[:count]


@kernel
def rows_without(world: int, flags: Words, value: int) -> Words:
    """The rows whose flag has another value."""
    found = scratch(world, len(flags))
    count = 0
    for row in range(len(flags)):
        if flags[row] != value:
            found[count] = row
            count += 1
    return found[:count]


@kernel
def part_at_hand(world: int, message: int, start: int) -> int:
    """The rows of a message from `start` on that are of one time, as a message: a burst is several. 0 behind the last.
    """
    rows = rows_of(message)
    if start >= rows:
        return 0
    end = end_of_message(message, start)
    return message if end - start == rows else part_of(world_at(world), message, start, end)


@kernel
def _key_message(world: int, keys: JoinKeys, side: int, message: int, add: bool) -> int:
    """The columns of the key, in which equal values are equal words; 0 if there was no room for a text that is new,
    with `add`."""
    columns = _columns_of(keys, side)
    made = bare_message(world_at(world), len(columns), rows_of(message))
    for number in range(len(columns)):
        words = column_of(message, columns[number].position)
        address = word_column(world, columns[number].what, words, add)
        if address == 0 and len(words) > 0:
            return 0
        point_to(made, number, address)
    return made


@kernel
def number_keys(world: int, keys: JoinKeys, side: int, message: int, slots: Words) -> bool:
    """Write the slot of each row's key, of which new ones get one; False if there was no room for all."""
    rows = len(slots)
    key = _key_message(world, keys, side, message, True)
    if key == 0:
        return False
    done, _ = number_by(
        keys.numbers, keys.by, key, 0, rows, scratch(world, rows), slots, scratch(world, rows), scratch(world, rows)
    )
    return done == rows


@kernel
def find_keys(world: int, keys: JoinKeys, side: int, message: int, slots: Words) -> None:
    """Write the slot of each row's key, -1 where it is not known or null."""
    key = _key_message(world, keys, side, message, False)
    find_by(keys.numbers, keys.by, key, scratch(world, len(slots)), slots)
    for row in rows_without_key(world, keys, side, message):
        slots[row] = -1


class LinkedKeys:
    """The keys of both sides, and what says where they are. arriving: the schemas of both sides' messages."""

    def __init__(self, columns: JoinedColumns, arriving: tuple[Schema, Schema]) -> None:
        on = columns.on[LEFT]
        self._key_words = KeyWords(columns.sides[LEFT], on)
        self.keys = Keys(Schema.of(self._key_words.spec), on)
        self.moving = MovingKeyWords(columns.sides[LEFT].select(on), self.keys, self._key_words, on)
        self._by = np.arange(len(columns.on[LEFT]))
        self._sources = np.zeros((len(self._by), SOURCE_WORDS), np.int64)
        self._columns = [np.zeros((len(self._by), KeyColumn.size), np.int64) for _ in arriving]
        for table, schema, names in zip(self._columns, arriving, columns.on, strict=True):
            for row, name, what in zip(table, names, self._key_words.kinds.tolist(), strict=True):
                kind = schema.kind(name)
                row[:] = schema.position(name), kind.nullable, kind.null, what

    def grow(self) -> None:
        """Make room for another key."""
        self._key_words.grow(self.keys)
        self.keys.grow()

    def link(self, keys: JoinKeys) -> None:
        """Write down where the keys are now. To be repeated when they have grown."""
        link_numbers(keys.numbers, self.keys)
        keys.by.numbers, keys.by.count = address_of(self._by), len(self._by)
        keys.by.sources = address_of(self._sources)
        for side in (LEFT, RIGHT):
            keys.columns[side] = address_of(self._columns[side])
            keys.nullable[side] = KeyColumn.of_table(self._columns[side])["may_be_null"].any()
