"""Sinks that keep rows on the worker, in its inner loop: all of them, in columns that grow, or each key's latest."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Compiled,
    Record,
    address_of,
    column_of,
    entry,
    peek,
    record_of,
    rows_of,
    state_as,
    table_at,
    take,
    words_at,
)
from tokenring.operators.state import KeyCounts, Keys, WordKeys, cells_of, counts_of, grown, link_keys, slot_of, tags_of

_FIRST_ROWS = 1024
_MANY_ROWS = 1 << 15
"""So many are handed on at once, if they are."""


class Rows(Record):
    """Where the columns' addresses are; for how many rows there is room, how many are used, how many more were to be;
    how many columns there are."""

    addresses: int
    room: int
    used: int
    wanted: int
    width: int


class Latest(Record):
    """Behind where its keys are: the table's address, its columns, that of the key, the row to go on with."""

    keys: WordKeys
    rows: int
    columns: int
    key: int
    start: int


@entry
def _keep(world: int, me: int) -> int:
    """Append the rows that came."""
    own = state_as(world, me, Rows)
    addresses = words_at(own.addresses, own.width)
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        rows, used = rows_of(message), own.used
        if used + rows > own.room:
            own.wanted = rows
            return NEEDS_ROOM
        for column in range(own.width):
            words_at(addresses[column], own.room)[used : used + rows] = column_of(message, column)
        own.used += rows
        take(world, me, 0)


@entry
def _put(world: int, me: int) -> int:
    """Replace rows by key."""
    own = state_as(world, me, Latest)
    cells, tags, counts = cells_of(own.keys), tags_of(own.keys), counts_of(own.keys)
    table = table_at(own.rows, own.keys.capacity, own.columns)
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        keys, start = column_of(message, own.key), own.start
        for i in range(start, len(keys)):
            slot = slot_of(cells, tags, record_of(counts, KeyCounts), keys[i])
            if slot < 0:
                own.start = i
                return NEEDS_ROOM
            for column in range(own.columns):
                table[slot, column] = column_of(message, column)[i]
        own.start = 0
        take(world, me, 0)


def compiled_rows(schema: Schema, hand_on: Callable[[Batch], bool]) -> tuple[Compiled, Callable[[], Batch]]:
    """A sink of all rows; and what reads those that are here, as one batch. hand_on: asked to take many rows away,
    which it has done if it says so."""
    columns = [np.empty(_FIRST_ROWS, np.int64) for _ in schema.names]  # by themselves, so that they grow in place
    addresses = np.zeros(len(columns), np.int64)
    own = Rows()
    own.addresses, own.width = address_of(addresses), len(columns)

    def link() -> None:
        addresses[:] = [address_of(column) for column in columns]
        own.room = len(columns[0])

    def make_room() -> None:
        if len(columns[0]) >= _MANY_ROWS and hand_on(read()):
            own.used = 0
        wanted = own.used + own.wanted
        columns[:] = [grown(column, wanted, None) for column in columns]
        link()

    def read() -> Batch:
        rows = own.used
        kept = [column[:rows].view(dtype) for column, dtype in zip(columns, schema.dtypes, strict=True)]
        return Batch.wrap(schema, tuple(kept), rows)

    link()
    return Compiled(_keep, own.words, (read, addresses), make_room), read


def compiled_latest(width: int, key: int) -> tuple[Compiled, Callable[[], tuple[np.ndarray, ...]]]:
    """A sink of the latest row of each key, of so many columns, number `key` among them; and what reads the columns, in
    the order in which keys first appeared."""
    schema = Schema("key")
    keys = Keys(schema, schema.names)
    table = np.zeros((keys.capacity, width), np.int64)
    own = Latest()
    own.columns, own.key = width, key

    def link() -> None:
        link_keys(own.keys, keys)
        own.rows = address_of(table)

    def make_room() -> None:
        nonlocal table
        keys.grow()
        table = grown(table, keys.capacity, axis=0)
        link()

    def read() -> tuple[np.ndarray, ...]:
        return tuple([table[: keys.limit, at].copy() for at in range(width)])

    link()
    return Compiled(_put, own.words, (read,), make_room), read
