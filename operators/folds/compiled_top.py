"""The best rows of each key in the worker's inner loop: what changes in TopState, by the same kernels."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    address_of,
    column_of,
    entry,
    new_message,
    rows_of,
    shorten,
    table_at,
    words_at,
)
from tokenring.operators.folds.compiled_best import ORDER_WORDS, order_table, rank_rows
from tokenring.operators.folds.compiled_folds import gather
from tokenring.operators.folds.kernels import BLOCK
from tokenring.operators.folds.top_state import TopState, insert, list_changed
from tokenring.operators.mechanisms import MESSAGE, REPLY, CompiledLogic, driven, own_words
from tokenring.operators.state import NUMBERS_WORDS, PLACES, SOURCE_WORDS, Keys, link_numbers, number_by

# Words of its own: where keys are. BY, ORDERS: the columns of the key, and of the order, among those that arrive. KEPT,
# KEPT_PLACES, COUNTS, CHANGED, COLUMNS: as TopState has them, MOST rows a slot. ROW: the row to go on with after there
# was no room; FOUND: slots so far that have changed, in the first column of the message TOUCHED, 0 outside of calls.
_KEYS = 0
_BY, _BY_COUNT, _SOURCES, _SCRATCH, _WORDS, _ORDERS, _ORDER_COUNT, _MOST, _KEPT, _KEPT_PLACES, _COUNTS, _CHANGED, \
    _COLUMNS, _WIDTH, _ROW, _FOUND, _TOUCHED = range(NUMBERS_WORDS, NUMBERS_WORDS + 17)  # fmt: skip
_OWN_WORDS = _TOUCHED + 1
_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _ROWS, _PUT = range(6)
_SCRATCH_ROWS = 6


@entry
def _answer_changes(world, me):  # type: ignore[no-untyped-def]
    """Of each key whose best rows a message changes: the rows from the first rank on that has another, and ranks."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows, at, most = rows_of(message), own[_ROW], own[_MOST]
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    if own[_TOUCHED] == 0:
        own[_TOUCHED], own[_FOUND] = new_message(world, me, 0, rows), 0
    touched = column_of(own[_TOUCHED], 0)
    orders = table_at(own[_ORDERS], own[_ORDER_COUNT], ORDER_WORDS)
    words = table_at(own[_WORDS], BLOCK, own[_ORDER_COUNT])
    capacity = own[_KEYS + PLACES]
    kept = table_at(own[_KEPT], most * capacity, own[_ORDER_COUNT])
    places = words_at(own[_KEPT_PLACES], most * capacity)
    counts, changed = words_at(own[_COUNTS], capacity), words_at(own[_CHANGED], capacity)
    columns = words_at(own[_COLUMNS], own[_WIDTH])
    slots, put, chosen = scratch[_SLOTS], scratch[_PUT], scratch[_ROWS]
    while at < rows:
        some = min(BLOCK, rows - at)
        done, added = number_by(
            own, _KEYS, _BY, message, at, some, scratch[_WANTED], slots, scratch[_FRESH], scratch[_FRESH_ROWS]
        )
        for i in range(added):
            counts[scratch[_FRESH, i]] = changed[scratch[_FRESH, i]] = 0
        if done < some:
            own[_ROW] = at
            return NEEDS_ROOM
        left = rank_rows(orders, message, at, slots[:some], chosen, words)
        own[_FOUND] += insert(
            words, slots[:left], most, kept, places, counts, changed, put, touched[own[_FOUND] :]
        )
        for column in range(len(columns)):
            stored, values = words_at(columns[column], most * capacity), column_of(message, column)
            for i in range(left):
                if put[i] >= 0:
                    stored[put[i]] = values[chosen[i]]
        at += some
    touched = touched[: own[_FOUND]]
    own[_ROW] = own[_TOUCHED] = 0
    room = 0
    for slot in touched:
        room += counts[slot]
    reply, found = new_message(world, me, 0, room), column_of(new_message(world, me, 0, room), 0)
    total = list_changed(touched, most, places, counts, changed, found, column_of(reply, len(columns)))
    shorten(reply, total)
    for column in range(len(columns)):
        gather(words_at(columns[column], most * capacity), found[:total], column_of(reply, column))
    state[REPLY] = reply
    return DONE


class _State:
    """One worker's keys and their best rows."""

    def __init__(
        self, schema: Schema, by: Sequence[str], orders: Sequence[str], top: TopState, most: int, largest: bool
    ) -> None:
        self._keys, self._top = Keys(schema, by), top
        self._by = np.array([schema.position(name) for name in by], np.int64)
        self._sources = np.zeros((len(by), SOURCE_WORDS), np.int64)
        self._scratch = np.zeros((_SCRATCH_ROWS, BLOCK), np.int64)
        self._ranked = np.zeros((BLOCK, len(orders)), np.int64)
        self._orders = order_table(schema, orders, largest)
        self._tables: tuple[np.ndarray, ...] = ()
        self._columns = np.zeros(0, np.int64)
        self.words = words = np.zeros(_OWN_WORDS, np.int64)
        words[_BY], words[_BY_COUNT], words[_SOURCES] = address_of(self._by), len(by), address_of(self._sources)
        words[_SCRATCH], words[_WORDS] = address_of(self._scratch), address_of(self._ranked)
        words[_ORDERS], words[_ORDER_COUNT], words[_MOST] = address_of(self._orders), len(orders), most
        self._link()

    def _link(self) -> None:
        link_numbers(self.words, _KEYS, self._keys)
        self._tables = self._top.tables(self._keys.capacity)
        self.words[_KEPT : _CHANGED + 1] = [address_of(table) for table in self._tables[:4]]
        self._columns = np.array([address_of(column) for column in self._tables[4:]], np.int64)
        self.words[_COLUMNS], self.words[_WIDTH] = address_of(self._columns), len(self._columns)

    def grow(self) -> None:
        """Make room for another key."""
        self._keys.grow()
        self._link()


def compiled_top(
    schema: Schema, by: Sequence[str], orders: Sequence[str], top: TopState, most: int, largest: bool
) -> CompiledLogic:
    """What changes in `top`, of rows that begin with its columns, by keys of words, without float64. orders: the column
    that counts, then the ties."""
    state = _State(schema, by, orders, top, most, largest)
    return CompiledLogic(state.words, _answer_changes, owners=(state,), make_room=state.grow)
