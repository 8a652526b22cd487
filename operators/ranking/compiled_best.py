"""The best row of each key in the worker's inner loop: what `Best` answers a message, by the same kernels."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    address_of,
    column_of,
    entry,
    new_message,
    rows_of,
    table_at,
    words_at,
)
from tokenring.operators.folds import BLOCK, gather
from tokenring.operators.mechanisms import MESSAGE, REPLY, CompiledLogic, driven, own_words
from tokenring.operators.migrate import offer
from tokenring.operators.ranking.best import best_tables, end_wins, win
from tokenring.operators.state import (
    LEAST,
    MOST,
    NUMBERS_WORDS,
    PLACES,
    SOURCE_WORDS,
    Keys,
    KeyWords,
    grown,
    link_numbers,
    number_by,
    shared_scratch,
    with_key_words,
)
from tokenring.operators.state.moving import KeptWords, KeyedMoves, MovingKeyWords

# Words of its own: where keys are. BY, ORDERS: the columns of the key, and of the order, among those that arrive. KEPT,
# EACH: as `win` takes them. ROW: the row to go on with after there was no room; FOUND: winners so far, in the first
# columns of the messages WINNERS, 0 outside of calls, and WON. WIDTH: the columns that are sent, with a rank if so, of
# the COLUMNS that arrive. KEY_WORDS: where the key's KeyWords are.
_KEYS = 0
_BY, _BY_COUNT, _SOURCES, _SCRATCH, _WORDS, _ORDERS, _ORDER_COUNT, _KEPT, _EACH, _EQUAL_WINS, _ROW, _FOUND, \
    _WINNERS, _WON, _WIDTH, _WITH_RANK, _KEY_WORDS, _COLUMNS = range(NUMBERS_WORDS, NUMBERS_WORDS + 18)  # fmt: skip
_OWN_WORDS = _COLUMNS + 1
_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _ROWS = range(5)
_SCRATCH_ROWS = 5
_POSITION, _HOW, _LARGEST, _NULLABLE, _NULL = range(5)
ORDER_WORDS = 5
_AS_IT_IS, _UNSIGNED, _FLOAT = range(3)


@kernel
def _ascending(how, word, number):  # type: ignore[no-untyped-def]
    """A word as one of the order of its values; number: the same word as a float."""
    if how == _UNSIGNED:
        return word ^ LEAST
    if how == _FLOAT:
        if number == 0.0:
            return 0  # -0.0 as well
        return word ^ MOST if word < 0 else word
    return word


@kernel
def _has_rank(order, word, number):  # type: ignore[no-untyped-def]
    """Whether there is a value that can be ranked."""
    return not (order[_NULLABLE] and word == order[_NULL]) and (order[_HOW] != _FLOAT or number == number)


@kernel
def rank_rows(orders, message, at, slots, rows, words):  # type: ignore[no-untyped-def]
    """Write the words of rows' orders, and leave out rows that have none; returns how many are left."""
    values = column_of(message, orders[0, _POSITION])[at : at + len(slots)]
    numbers = values.view(np.float64)
    left = 0
    for i in range(len(slots)):
        if _has_rank(orders[0], values[i], numbers[i]):
            slots[left], rows[left] = slots[i], at + i
            left += 1
    for column in range(len(orders)):
        order = orders[column]
        values = column_of(message, order[_POSITION])
        numbers = values.view(np.float64)
        for i in range(left):
            word = _ascending(order[_HOW], values[rows[i]], numbers[rows[i]])
            words[i, column] = ~word if order[_LARGEST] else word
    return left


@entry
def _answer_best(world, me):  # type: ignore[no-untyped-def]
    """The rows of a message that are their keys' best now."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows, at = rows_of(message), own[_ROW]
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    if own[_WINNERS] == 0:
        own[_WINNERS], own[_WON], own[_FOUND] = new_message(world, me, 0, rows), new_message(world, me, 0, rows), 0
    winners, won = column_of(own[_WINNERS], 0), column_of(own[_WON], 0)
    orders = table_at(own[_ORDERS], own[_ORDER_COUNT], ORDER_WORDS)
    words = table_at(own[_WORDS], BLOCK, own[_ORDER_COUNT])
    capacity = own[_KEYS + PLACES]
    kept = table_at(own[_KEPT], capacity, 1 + own[_ORDER_COUNT])
    keyed = with_key_words(world, own[_KEY_WORDS], message, own[_COLUMNS], words_at(own[_BY], own[_BY_COUNT]))
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        some = min(BLOCK, rows - at)
        slots = scratch[_SLOTS][:some]
        done, _ = number_by(
            own, _KEYS, _BY, keyed, at, some, scratch[_WANTED], slots, scratch[_FRESH], scratch[_FRESH_ROWS]
        )
        if done < some:
            own[_ROW] = at
            return NEEDS_ROOM
        left = rank_rows(orders, message, at, slots, scratch[_ROWS], words)
        own[_FOUND] = win(
            words, slots[:left], scratch[_ROWS], kept, own[_EQUAL_WINS], own[_EACH], winners, won, own[_FOUND]
        )
        at += some
    found = winners[: own[_FOUND]]
    end_wins(won[: own[_FOUND]], kept)
    own[_ROW] = own[_WINNERS] = 0
    reply = new_message(world, me, 0, len(found))
    for column in range(own[_WIDTH]):
        gather(column_of(message, column), found, column_of(reply, column))
    if own[_WITH_RANK]:
        column_of(reply, own[_WIDTH])[:] = 1
    state[REPLY] = reply
    return DONE


def order_table(schema: Schema, orders: Sequence[str], largest: bool) -> np.ndarray:
    """What `rank_rows` is to know of columns to order by: the one that counts, then the ties."""
    table = np.zeros((len(orders), ORDER_WORDS), np.int64)
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
        self._kept = np.zeros((64, 1 + len(orders)), np.int64)
        self._by = np.array([schema.position(name) for name in by], np.int64)
        self._sources = np.zeros((len(by), SOURCE_WORDS), np.int64)
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self._ranked = shared_scratch(__name__, BLOCK, len(orders))
        self._orders = order_table(schema, orders, largest)
        self.words = words = np.zeros(_OWN_WORDS, np.int64)
        words[_BY], words[_BY_COUNT], words[_SOURCES] = address_of(self._by), len(by), address_of(self._sources)
        words[_KEY_WORDS], words[_COLUMNS] = self._key_words.address, len(schema)
        words[_SCRATCH], words[_WORDS] = address_of(self._scratch), address_of(self._ranked)
        words[_ORDERS], words[_ORDER_COUNT] = address_of(self._orders), len(orders)
        self._link()
        moving = MovingKeyWords(schema.select(by), self._keys, self._key_words, by)
        offer(KeyedMoves(best_tables(schema, by, len(orders)), moving, KeptWords(self._table), self._link))

    def _table(self, limit: int) -> np.ndarray:
        self._kept = grown(self._kept, limit, axis=0)
        return self._kept

    def _link(self) -> None:
        self._kept = grown(self._kept, self._keys.capacity, axis=0)
        link_numbers(self.words, _KEYS, self._keys)
        self.words[_KEPT] = address_of(self._kept)

    def grow(self) -> None:
        """Make room for another key."""
        self._key_words.grow(self._keys)
        self._keys.grow()
        self._link()


def compiled_best(
    schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool, equal_wins: bool, each: bool, rank: bool,
    width: int,
) -> CompiledLogic:  # fmt: skip
    """The rows that are `Best`. orders: the column that counts, then the ties.
    width: how many of the columns are sent; rank: whether one more is, that is 1."""
    state = _State(schema, by, orders, largest)
    words = state.words
    words[_EQUAL_WINS], words[_EACH], words[_WITH_RANK], words[_WIDTH] = equal_wins, each, rank, width
    return CompiledLogic(words, _answer_best, owners=(state,), make_room=state.grow)
