"""The best row of each key, without keeping rows, for `last_by`, and `top` of one: what of it changes with a message;
and which of a worker's rows can be among the best of all."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Schema, int64, kernel, void
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Record,
    Words,
    address_of,
    chosen_rows,
    column_of,
    entry,
    lease,
    new_message,
    record_of,
    records_at,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.folds import BLOCK
from tokenring.operators.mechanisms import CompiledLogic, driven, own_record
from tokenring.operators.migrate import Table, offer
from tokenring.operators.ranking.top_state import comes_before
from tokenring.operators.state import (
    FIRST_SLOTS,
    LEAST,
    MOST,
    KeyColumns,
    KeyMap,
    Keys,
    KeyWords,
    gather,
    grown,
    link_columns,
    link_numbers,
    number_by,
    pop,
    push,
    shared_scratch,
    with_key_words,
)
from tokenring.operators.state.moving import KeptWords, KeyedMoves, MovingKeyWords, word_tables

NO_ROW, HAS_ROW = 0, -1


class BestRow(Record):
    """What the words that are kept of a slot begin with. `state`: NO_ROW, HAS_ROW, or behind how many winners of these
    rows the slot's is listed. Behind it comes the order of its best row."""

    state: int


_ORDER_AT = BestRow.size


@kernel(int64(TABLE, COLUMN, COLUMN, TABLE, int64, int64, WORDS, WORDS, int64))
def win(
    orders: Words, slots: Words, rows: Words, kept: Words, equal_wins: int, each: int, winners: Words, won: Words,
    found: int,
) -> int:  # fmt: skip
    """Which rows are the best of their slots, after all of them: written by slot, in order of first win, behind the
    `found` of those before them, until `end_wins`. With each: all that are the best when they come.

    rows: what they are called. kept, int64 (slots, 1 + words): BestRow, and the best rows' orders. winners, won: the
    rows, and the slots they have won. Returns how many there are.
    """
    for i in range(len(slots)):
        words, best = kept[slots[i]], record_of(kept[slots[i]], BestRow)
        if best.state == NO_ROW or comes_before(orders, i, words, _ORDER_AT, equal_wins != 0):
            for at in range(orders.shape[1]):
                words[_ORDER_AT + at] = orders[i, at]
            if best.state <= 0 or each != 0:
                won[found] = slots[i]
                found += 1
                best.state = found
            winners[best.state - 1] = rows[i]
    return found


@kernel(void(COLUMN, TABLE))
def end_wins(won: Words, kept: Words) -> None:
    """Nobody has won yet of what comes next."""
    for slot in won:
        record_of(kept[slot], BestRow).state = HAS_ROW


def best_tables(schema: Schema, by: Sequence[str], orders: int) -> list[Table]:
    """The tables that the best rows so far are as they move; orders: how many columns order them."""
    return word_tables(schema.select(by), by, _ORDER_AT + orders)


_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _ROWS = range(5)
_SCRATCH_ROWS = 5
_AS_IT_IS, _UNSIGNED, _FLOAT = range(3)


class Order(Record):
    """A column to order by: where it is, how its words are in order, whether the largest is first, and its null."""

    position: int
    how: int
    largest: int
    nullable: int
    null: int


class Ranking(Record):
    """What the best rows of keys begin with. `by`, `orders`: the columns of the key, and of the order, among those that
    arrive; `ranked`: room for the words of orders."""

    keys: KeyMap
    by: KeyColumns
    scratch: int
    ranked: int
    orders: int
    order_count: int


class Best(Ranking):
    """`kept`, `each`: as `win` takes them. `row`: the row to go on with after there was no room; `found`: wins
    so far, in the first columns of the messages `winners`, 0 outside of calls, and `won`. `width`: the columns that are
    sent, with a rank if so, of the `columns` that arrive. `key_words`: where the key's KeyWords are."""

    kept: int
    each: int
    equal_wins: int
    row: int
    found: int
    winners: int
    won: int
    width: int
    with_rank: int
    key_words: int
    columns: int


@kernel
def _ascending(how: int, word: int, number: float) -> int:
    """A word as one of the order of its values; number: the same word as a float."""
    if how == _UNSIGNED:
        return word ^ LEAST
    if how == _FLOAT:
        if number == 0.0:
            return 0  # -0.0 as well
        return word ^ MOST if word < 0 else word
    return word


@kernel
def has_rank(order: Order, word: int, number: float) -> bool:
    """Whether there is a value that can be ranked."""
    return not (order.nullable and word == order.null) and (order.how != _FLOAT or number == number)


@kernel
def order_word(order: Order, word: int, number: float) -> int:
    """A word of the column as one of which the least goes first; number: the same word as a float."""
    found = _ascending(order.how, word, number)
    return ~found if order.largest else found


@kernel
def rank_rows(orders: Sequence[Order], message: int, at: int, slots: Words, rows: Words, words: Words) -> int:
    """Write the words of rows' orders, and leave out rows that have none; returns how many are left."""
    values = column_of(message, orders[0].position)[at : at + len(slots)]
    numbers = values.view(np.float64)
    left = 0
    for i in range(len(slots)):
        if has_rank(orders[0], values[i], numbers[i]):
            slots[left], rows[left] = slots[i], at + i
            left += 1
    for column in range(len(orders)):
        order = orders[column]
        values = column_of(message, order.position)
        numbers = values.view(np.float64)
        for i in range(left):
            words[i, column] = order_word(order, values[rows[i]], numbers[rows[i]])
    return left


@entry
def _answer_best(world: int, me: int) -> int:
    """The rows of a message that are their keys' best now."""
    state, own = driven(world, me), own_record(world, me, Best)
    message = state.message
    rows, at = rows_of(message), own.row
    scratch = table_at(own.scratch, _SCRATCH_ROWS, BLOCK)
    if own.winners == 0:
        own.winners, own.won, own.found = new_message(world, me, 0, rows), new_message(world, me, 0, rows), 0
    winners, won = column_of(own.winners, 0), column_of(own.won, 0)
    orders = records_at(own.orders, own.order_count, Order)
    words = table_at(own.ranked, BLOCK, own.order_count)
    capacity = own.keys.places
    kept = table_at(own.kept, capacity, _ORDER_AT + own.order_count)
    keyed = with_key_words(world, own.key_words, message, own.columns, own.by)
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        some = min(BLOCK, rows - at)
        slots = scratch[_SLOTS][:some]
        done, _ = number_by(
            own.keys, own.by, keyed, at, some, scratch[_WANTED], slots, scratch[_FRESH], scratch[_FRESH_ROWS]
        )
        if done < some:
            own.row = at
            return NEEDS_ROOM
        left = rank_rows(orders, message, at, slots, scratch[_ROWS], words)
        own.found = win(words, slots[:left], scratch[_ROWS], kept, own.equal_wins, own.each, winners, won, own.found)
        at += some
    found = winners[: own.found]
    end_wins(won[: own.found], kept)
    own.row = own.winners = 0
    reply = new_message(world, me, 0, len(found))
    for column in range(own.width):
        gather(column_of(message, column), found, column_of(reply, column))
    if own.with_rank:
        column_of(reply, own.width)[:] = 1
    state.reply = reply
    return DONE


def order_table(schema: Schema, orders: Sequence[str], largest: bool) -> np.ndarray:
    """What `rank_rows` is to know of columns to order by: the one that counts, then the ties."""
    table = Order.new_table(len(orders))
    for at, name in enumerate(orders):
        kind = schema.kind(name)
        how = {"uint64": _UNSIGNED, "float64": _FLOAT}.get(kind.name, _AS_IT_IS)
        table[at] = schema.position(name), how, largest and at == 0, kind.nullable, kind.null
    return table


class _State:
    """One worker's keys, and the orders of their best rows."""

    def __init__(self, schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool) -> None:
        self._key_words = KeyWords(schema, by)
        self._keys = Keys(Schema.of(self._key_words.spec), by)
        self._kept = np.zeros((FIRST_SLOTS, _ORDER_AT + len(orders)), np.int64)
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self._ranked = shared_scratch(__name__, BLOCK, len(orders))
        self._orders = order_table(schema, orders, largest)
        self.own = own = Best()
        self._by = link_columns(own.by, [schema.position(name) for name in by])
        own.key_words, own.columns = self._key_words.address, len(schema)
        own.scratch, own.ranked = address_of(self._scratch), address_of(self._ranked)
        own.orders, own.order_count = address_of(self._orders), len(orders)
        self._link()
        moving = MovingKeyWords(schema.select(by), self._keys, self._key_words, by)
        offer(KeyedMoves(best_tables(schema, by, len(orders)), moving, KeptWords(self._table), self._link))

    def _table(self, limit: int) -> np.ndarray:
        self._kept = grown(self._kept, limit, axis=0)
        return self._kept

    def _link(self) -> None:
        self._kept = grown(self._kept, self._keys.capacity, axis=0)
        link_numbers(self.own.keys, self._keys)
        self.own.kept = address_of(self._kept)

    def grow(self) -> None:
        """Make room for another key."""
        self._key_words.grow(self._keys)
        self._keys.grow()
        self._link()


def compiled_best(
    schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool, equal_wins: bool, each: bool, rank: bool,
    width: int,
) -> CompiledLogic:  # fmt: skip
    """The rows that are the best of their keys when they come: those with the least ties of those with the largest, or
    smallest, order; of equal ones the first to arrive, or the last with equal_wins. orders: the column that counts,
    then the ties. each: whether all that are the best when they come are told, or of each key and message the last
    alone. width: how many of the columns are sent; rank: whether one more is, that is 1. Memory: each key, 8 bytes, and
    8 for each of the orders."""
    state = _State(schema, by, orders, largest)
    own = state.own
    own.equal_wins, own.each, own.with_rank, own.width = equal_wins, each, rank, width
    return CompiledLogic(own.words, _answer_best, owners=(state,), make_room=state.grow)


class Among(Record):
    """What a worker knows of its own best rows of all: of the `most` best the words of the order, in a heap of `count`,
    with room for so many, the worst first (its complement is the least)."""

    heap: int
    count: int
    places: int
    most: int
    orders: int
    ranked: int
    scratch: int


@entry
def _answer_among(world: int, me: int) -> int:
    """The rows of a message that may be among the best of all: those that are as good as the worst of this worker's."""
    state, own = driven(world, me), own_record(world, me, Among)
    message = state.message
    rows, at, found = rows_of(message), 0, 0
    if own.places < min(own.most, own.count + rows):
        return NEEDS_ROOM
    heap, scratch = table_at(own.heap, own.places, 2), table_at(own.scratch, _SCRATCH_ROWS, BLOCK)
    orders, words = records_at(own.orders, 1, Order), table_at(own.ranked, BLOCK, 1)
    chosen = words_at(lease(world_at(world), 8 * rows), rows)
    while at < rows:
        some = min(BLOCK, rows - at)
        for i in range(rank_rows(orders, message, at, scratch[_SLOTS][:some], scratch[_ROWS], words)):
            word = words[i, 0]
            if own.count == own.most:
                worst = ~heap[0, 0]
                if word > worst:
                    continue
                if word < worst:
                    pop(heap, own.count)
                    push(heap, own.count - 1, ~word, 0)
            else:
                push(heap, own.count, ~word, 0)
                own.count += 1
            chosen[found] = scratch[_ROWS, i]
            found += 1
        at += some
    if found == rows:
        state.reply = message
    elif found > 0:
        state.reply = chosen_rows(world_at(world), message, chosen[:found])
    return DONE


def compiled_among(schema: Schema, order: str, most: int, largest: bool) -> CompiledLogic:
    """A worker's own rows that can be among the `most` best of all, by a column that is no text. Memory: 16 bytes for
    each of the best."""
    own, heap = Among(), [np.zeros((0, 2), np.int64)]
    orders, scratch = order_table(schema, (order,), largest), shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
    ranked = shared_scratch(__name__, BLOCK, 1)
    own.most, own.orders = most, address_of(orders)
    own.scratch, own.ranked = address_of(scratch), address_of(ranked)

    def grow() -> None:
        heap[0] = grown(heap[0], min(most, max(own.count + BLOCK, 2 * own.places)), None, axis=0)
        own.heap, own.places = address_of(heap[0]), len(heap[0])

    return CompiledLogic(own.words, _answer_among, owners=(heap, orders, scratch, ranked), make_room=grow)
