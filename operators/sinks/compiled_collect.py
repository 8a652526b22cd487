"""Sinks that keep rows on the worker, in its inner loop: all of them, in columns that grow, or each key's latest."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Compiled,
    address_of,
    column_of,
    entry,
    peek,
    rows_of,
    state_of,
    table_at,
    take,
    words_at,
)
from tokenring.operators.state import (
    CAPACITY,
    KEYS_WORDS,
    Keys,
    cells_of,
    counts_of,
    grown,
    link_keys,
    slot_of,
    tags_of,
)

# Words of the state of one: where the columns' addresses are, their rows, how many are used, how many more were to be,
# how many columns there are.
_ADDRESSES, _ROOM, _USED, _WANTED, _WIDTH = range(5)
# Of the other, behind where its keys are: the table's address, its columns, that of the key, the row to go on with.
_ROWS, _COLUMNS, _KEY, _START = range(KEYS_WORDS, KEYS_WORDS + 4)
_FIRST_ROWS = 1024
_MANY_ROWS = 1 << 15
"""So many are handed on at once, if they are."""


@entry
def _keep(world, me):  # type: ignore[no-untyped-def]
    """Append the rows that came."""
    own = state_of(world, me, _WIDTH + 1)
    addresses = words_at(own[_ADDRESSES], own[_WIDTH])
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        rows, used = rows_of(message), own[_USED]
        if used + rows > own[_ROOM]:
            own[_WANTED] = rows
            return NEEDS_ROOM
        for column in range(own[_WIDTH]):
            words_at(addresses[column], own[_ROOM])[used : used + rows] = column_of(message, column)
        own[_USED] += rows
        take(world, me, 0)


@entry
def _put(world, me):  # type: ignore[no-untyped-def]
    """Replace rows by key."""
    own = state_of(world, me, _START + 1)
    cells, tags, counts = cells_of(own, 0), tags_of(own, 0), counts_of(own, 0)
    table = table_at(own[_ROWS], own[CAPACITY], own[_COLUMNS])
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        keys, start = column_of(message, own[_KEY]), own[_START]
        for i in range(start, len(keys)):
            slot = slot_of(cells, tags, counts, keys[i])
            if slot < 0:
                own[_START] = i
                return NEEDS_ROOM
            for column in range(own[_COLUMNS]):
                table[slot, column] = column_of(message, column)[i]
        own[_START] = 0
        take(world, me, 0)


def compiled_rows(schema: Schema, hand_on: Callable[[Batch], bool]) -> tuple[Compiled, Callable[[], Batch]]:
    """A sink of all rows; and what reads those that are here, as one batch. hand_on: asked to take many rows away,
    which it has done if it says so."""
    columns = [np.empty(_FIRST_ROWS, np.int64) for _ in schema.names]  # by themselves, so that they grow in place
    addresses = np.zeros(len(columns), np.int64)
    words = np.zeros(_WIDTH + 1, np.int64)
    words[_ADDRESSES], words[_WIDTH] = address_of(addresses), len(columns)

    def link() -> None:
        addresses[:] = [address_of(column) for column in columns]
        words[_ROOM] = len(columns[0])

    def make_room() -> None:
        if len(columns[0]) >= _MANY_ROWS and hand_on(read()):
            words[_USED] = 0
        wanted = int(words[_USED] + words[_WANTED])
        columns[:] = [grown(column, wanted, None) for column in columns]
        link()

    def read() -> Batch:
        rows = int(words[_USED])
        kept = [column[:rows].view(dtype) for column, dtype in zip(columns, schema.dtypes, strict=True)]
        return Batch.wrap(schema, tuple(kept), rows)

    link()
    return Compiled(_keep, words, (read, addresses), make_room), read


def compiled_latest(width: int, key: int) -> tuple[Compiled, Callable[[], tuple[np.ndarray, ...]]]:
    """A sink of the latest row of each key, of so many columns, number `key` among them; and what reads the columns, in
    the order in which keys first appeared."""
    schema = Schema("key")
    keys = Keys(schema, schema.names)
    table = np.zeros((keys.capacity, width), np.int64)
    words = np.zeros(_START + 1, np.int64)
    words[_COLUMNS], words[_KEY] = width, key

    def link() -> None:
        link_keys(words, 0, keys)
        words[_ROWS] = address_of(table)

    def make_room() -> None:
        nonlocal table
        keys.grow()
        table = grown(table, keys.capacity, axis=0)
        link()

    def read() -> tuple[np.ndarray, ...]:
        return tuple([table[: keys.limit, at].copy() for at in range(width)])

    link()
    return Compiled(_put, words, (read,), make_room), read
