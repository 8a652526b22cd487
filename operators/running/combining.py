"""Combining: rows of one key in a message become one before they cross, where keys come often enough.

A small table says where a key's row may be; where another has taken its cell, the key gets a second row, and whoever
owns the key adds them up. Messages whose keys hardly repeat pass on, each row as what one row comes to; now and then
one is looked at again.
"""

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Record,
    Words,
    address_of,
    addresses_of,
    bare_message,
    column_of,
    entry,
    new_message,
    rows_of,
    signed,
    table_at,
    unsigned,
    words_at,
    world_at,
)
from tokenring.engine.raw import halves_at
from tokenring.operators.folds import (
    BLOCK,
    COUNT,
    Folds,
    FoldState,
    Plan,
    fold_block,
    start_slot,
    write_partials,
    write_rows,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, own_record
from tokenring.operators.state import all_equal, gather, grown, shared_scratch

_SLOTS, _CHOSEN, _PICKED, _TAGS, _SCRATCH_ROWS = range(5)
_NUMBERS, _FIRSTS, _KEPT, _COUNTS, _ROWS_WORDS = range(5)
_CELL_BITS = 12  # with what is kept of the rows it stays in a core's innermost cache
_LEAST_ROWS = 64  # of fewer, it is not worth the while
_RESTED = 31
_MIXED = np.uint64(0x9E3779B97F4A7C15)


class Combining(Record):
    """`by`: the columns of the key; `varying`: those of them that are not the same in all rows at hand, `varies` of
    them. `cells`: by hash the row to be sent that may be the key's. `rows`: words by row to be sent, as many as
    `capacity` each: its number, the first row of its key, the key, or its hash, and its counts. `row`, `made`: where to
    go on after there was no room, and how many rows there are by then. `rests`: messages to pass on before one is
    looked at again. `only_counts`: whether all that is asked for is how many rows there are."""

    folds: Folds
    by: int
    by_count: int
    varying: int
    varies: int
    cells: int
    rows: int
    capacity: int
    scratch: int
    row: int
    made: int
    rests: int
    only_counts: int


@kernel
def _rows_words(own: Combining, which: int) -> Words:
    """Words by row to be sent."""
    return words_at(own.rows + 8 * which * own.capacity, own.capacity)


@kernel
def _home(tag: int) -> int:
    return signed(unsigned(tag) * _MIXED >> np.uint64(64 - _CELL_BITS))


@kernel
def _number(own: Combining, words: Words, row: int, slots: Words) -> None:
    """Write which row to be sent each row belongs to, of a key of one word, in rows from `row` on. What cells say of
    messages before is seen to be of another key, or right."""
    cells = halves_at(own.cells, 1 << _CELL_BITS)
    kept, firsts, made = _rows_words(own, _KEPT), _rows_words(own, _FIRSTS), own.made
    for i in range(len(words)):
        word = words[i]
        home = _home(word)
        slot = signed(cells[home])
        if slot >= made or kept[slot] != word:
            slot = made
            kept[slot], firsts[slot], cells[home] = word, row + i, slot
            made += 1
        slots[i] = slot
    own.made = made


@kernel
def _count(own: Combining, words: Words, row: int) -> None:
    """`_number` and the fold of nothing but a count of rows in one. Each row to be sent has two counts, of every second
    row: most rows may be of one key, and each addition to its count would wait for the one before."""
    cells = halves_at(own.cells, 1 << _CELL_BITS)
    counts = halves_at(_rows_words(own, _COUNTS).ctypes.data, 2 * own.capacity)
    kept, firsts, made = _rows_words(own, _KEPT), _rows_words(own, _FIRSTS), unsigned(own.made)
    one, shift = np.uint64(1), np.uint64(64 - _CELL_BITS)
    for i in range(len(words)):
        word = words[i]
        home = unsigned(word) * _MIXED >> shift  # unsigned, as numbers below are: no index is below 0
        slot = unsigned(cells[home])
        if slot >= made or kept[slot] != word:
            slot = made
            kept[slot], firsts[slot], cells[home] = word, row + i, slot
            counts[slot << one] = counts[slot << one | one] = 0
            made += one
        counts[slot << one | unsigned(i) & one] += 1
    own.made = signed(made)


@kernel
def _is_row(message: int, varying: Words, row: int, other: int) -> bool:
    """Whether two rows are of one key."""
    for column in varying:
        words = column_of(message, column)
        if words[row] != words[other]:
            return False
    return True


@kernel
def _number_by_several(own: Combining, message: int, row: int, tags: Words, slots: Words) -> None:
    """`_number`, of a key of several words, or of none that vary. tags: room for hashes."""
    varying = words_at(own.varying, own.varies)
    tags[:] = 0
    for column in varying:
        words = column_of(message, column)[row : row + len(tags)]
        for i in range(len(tags)):
            mixed = (unsigned(tags[i]) ^ unsigned(words[i])) * _MIXED
            tags[i] = signed(mixed ^ (mixed >> np.uint64(32)))
    cells = halves_at(own.cells, 1 << _CELL_BITS)
    kept, firsts, made = _rows_words(own, _KEPT), _rows_words(own, _FIRSTS), own.made
    for i in range(len(tags)):
        home = _home(tags[i])
        slot = signed(cells[home])
        if slot >= made or kept[slot] != tags[i] or not _is_row(message, varying, row + i, firsts[slot]):
            slot = made
            kept[slot], firsts[slot], cells[home] = tags[i], row + i, slot
            made += 1
        slots[i] = slot
    own.made = made


@kernel
def _begin(own: Combining, message: int) -> None:
    """Before a message's first row: which columns of its key vary."""
    by, varying = words_at(own.by, own.by_count), words_at(own.varying, own.by_count)
    own.made = own.varies = 0
    for column in by:
        if not all_equal(column_of(message, column)):
            varying[own.varies] = column
            own.varies += 1


@kernel
def _combine(world: int, own: Combining, message: int, at: int, some: int) -> bool:
    """Fold rows from `at` on into rows to be sent; whether all sums stayed in range."""
    scratch = table_at(own.scratch, _SCRATCH_ROWS, BLOCK)
    slots, before = scratch[_SLOTS][:some], own.made
    if own.only_counts and own.varies == 1:
        _count(own, column_of(message, words_at(own.varying, 1)[0])[at : at + some], at)
        return True
    if own.varies == 1:
        words = column_of(message, words_at(own.varying, 1)[0])
        _number(own, words[at : at + some], at, slots)
    else:
        _number_by_several(own, message, at, scratch[_TAGS][:some], slots)
    for slot in range(before, own.made):
        start_slot(own.folds, slot)
    return fold_block(world, own.folds, message, at, slots, scratch[_CHOSEN], scratch[_PICKED]) < 0


@kernel
def _as_they_are(world: int, own: Combining, message: int) -> int:
    """A message with each row as what it alone comes to."""
    by, rows = words_at(own.by, own.by_count), rows_of(message)
    reply = bare_message(world_at(world), len(by) + own.folds.fold_count, rows)
    for each in range(len(by)):
        addresses_of(reply)[each] = addresses_of(message)[by[each]]
    write_rows(world, own.folds, message, reply, len(by))
    return reply


@entry
def _answer_combined(world: int, me: int) -> int:
    """What each key's rows in a message come to, in the order in which keys appear."""
    state, own = driven(world, me), own_record(world, me, Combining)
    message = state.message
    rows, at = rows_of(message), own.row
    if rows < _LEAST_ROWS or own.rests > 0:
        own.rests -= own.rests > 0
        state.reply = _as_they_are(world, own, message)
        return DONE
    if at == 0:
        _begin(own, message)
    while at < rows:
        some = min(BLOCK, rows - at)
        if own.made + some > own.capacity:
            own.row = at
            return NEEDS_ROOM
        is_in_range = _combine(world, own, message, at, some)
        at += some
        is_worth_it = 2 * own.made <= at
        if not is_in_range or not is_worth_it:
            own.row, own.rests = 0, 0 if is_worth_it else _RESTED
            state.reply = _as_they_are(world, own, message)
            return DONE
    own.row = 0
    by, made = words_at(own.by, own.by_count), own.made
    reply = new_message(world, me, 0, made)
    firsts, numbers = _rows_words(own, _FIRSTS)[:made], _rows_words(own, _NUMBERS)[:made]
    for each in range(len(by)):
        gather(column_of(message, by[each]), firsts, column_of(reply, each))
    if own.only_counts and own.varies == 1:
        counts, column = _rows_words(own, _COUNTS), column_of(reply, len(by))
        for row in range(made):
            column[row] = (counts[row] >> 32) + (counts[row] & 0xFFFFFFFF)
    else:
        write_partials(own.folds, numbers, reply, len(by))
    state.reply = reply
    return DONE


class _Combined:
    """One worker's tables."""

    def __init__(self, plan: Plan) -> None:
        self._state = FoldState(plan)
        self._by = np.array([plan.schema.position(name) for name in plan.by], np.int64)
        self._varying = np.zeros(len(plan.by), np.int64)
        self._cells = shared_scratch(__name__, 1, 1 << (_CELL_BITS - 1))  # any number in them is of a row, or of none
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self.own = own = Combining()
        own.by, own.by_count, own.varying = address_of(self._by), len(plan.by), address_of(self._varying)
        own.cells, own.scratch = address_of(self._cells), address_of(self._scratch)
        folds = [(fold.operation, fold.column, fold.where) for fold in plan.folds]
        own.only_counts = folds == [(COUNT, None, None)]
        self._rows = np.zeros((_ROWS_WORDS, 0), np.int64)
        self._link()

    def _link(self) -> None:
        capacity = self._rows.shape[1]
        self._rows[_NUMBERS] = np.arange(capacity)
        self._state.make_room(capacity)
        self._state.link(self.own.folds)
        self.own.rows, self.own.capacity = address_of(self._rows), capacity

    def _grow(self) -> None:
        self._rows = grown(self._rows, max(2 * BLOCK, self._rows.shape[1] + 1))
        self._link()

    def logic(self) -> CompiledLogic:
        """What a driver calls."""
        return CompiledLogic(self.own.words, _answer_combined, owners=(self,), make_room=self._grow)


def combined(plan: Plan) -> CompiledLogic:
    """Rows of `combined_schema`, for each message one for each key in it, or more; of a plan that combines."""
    return _Combined(plan).logic()


def combined_schema(plan: Plan) -> Schema:
    """The columns of the key, and the words of state."""
    return Schema.of(plan.keys | plan.partial_kinds())
