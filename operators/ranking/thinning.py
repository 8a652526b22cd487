"""Rows that cannot be the best of their key, since one of the same message is better, need not go to who ranks them.

A small table says which row may be the best of a key; where another key has taken its cell, the key gets a second row.
Messages that keep most of their rows pass as they are.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import AnyStream, Pipeline, Schema, kernel, text_equal
from tokenring.engine.compiled import (
    DONE,
    HashedColumn,
    Record,
    Words,
    address_of,
    claim,
    column_of,
    entry,
    hashed_key,
    heap_of_words,
    key_hashes,
    records_at,
    rows_of,
    signed,
    unsigned,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, mechanism_of, own_record
from tokenring.operators.migrate import is_hashed
from tokenring.operators.ranking.best import Order, has_rank, only_rows, order_table, order_word
from tokenring.operators.state import shared_scratch

_CELL_BITS = 12  # so that the table stays in a core's innermost cache
_LEAST_ROWS = 64  # of fewer, it is not worth the while to leave out some
_PIECE_ROWS = 4096  # after which it is asked whether it pays
_LONGEST_PAUSE = 31
_MIXED = unsigned(0x9E3779B97F4A7C15)


class Thinner(Record):
    """`key`: the column of the key, -1 if it is several, or text or floats; where the HashedColumns of `key_columns`
    are is `told`, and `texts` what texts among them point into. `orders`: the Orders, `order_count` of them. `cells`:
    room for a number each. After messages at which it did not pay, ever more, `pause`, pass as they are; so many are
    left, `rests`."""

    key: int
    told: int
    key_columns: int
    texts: int
    orders: int
    order_count: int
    equal_wins: int
    cells: int
    pause: int
    rests: int


@kernel
def _is_of_key(own: Thinner, message: int, row: int, other: int) -> bool:
    """Whether two rows, which go by the same word, are of one key. Not so where words differ that are one value, as the
    zeros of floats."""
    key = records_at(own.told, own.key_columns, HashedColumn)
    for at in range(0 if own.key >= 0 else len(key)):
        words = column_of(message, key[at].position)
        one, two = words[row], words[other]
        if one != two:
            is_text = key[at].is_text != 0 and one >= 0 and two >= 0
            if not (is_text and text_equal(one, own.texts, two, own.texts)):
                return False
    return True


@kernel
def _wins_tie(own: Thinner, message: int, row: int, other: int) -> bool:
    """Whether a row is better than one before it, which is equal in the order that counts."""
    orders = records_at(own.orders, own.order_count, Order)
    for at in range(1, len(orders)):
        words = column_of(message, orders[at].position)
        numbers = words.view(np.float64)
        mine = order_word(orders[at], words[row], numbers[row])
        others = order_word(orders[at], words[other], numbers[other])
        if mine != others:
            return mine < others
    return own.equal_wins != 0


@kernel
def _best_of_keys(own: Thinner, message: int, keys: Words, rows: Words, ranks: Words) -> int:
    """Write the rows of which none of the same key is known to be better, those of a key in order; returns how many, -1
    if that is more than half. keys: a word of each row, equal for equal keys; ranks: room for a word a row."""
    order = records_at(own.orders, own.order_count, Order)[0]
    values, cells = column_of(message, order.position), words_at(own.cells, 1 << _CELL_BITS)
    numbers = values.view(np.float64)
    made = at = home = last = 0
    for row in range(len(keys)):
        if row % _PIECE_ROWS == 0 and 2 * made > row:
            return -1
        if not has_rank(order, values[row], numbers[row]):
            continue
        rank = order_word(order, values[row], numbers[row])
        if made == 0 or keys[row] != last:  # those of one key often follow each other, as those of a window do
            last = keys[row]
            home = signed((unsigned(last) * _MIXED) >> unsigned(64 - _CELL_BITS))
            at = cells[home]
        if at >= made or keys[row] != keys[rows[at]] or not _is_of_key(own, message, row, rows[at]):
            cells[home] = at = made
            made += 1
        elif rank > ranks[at] or (rank == ranks[at] and not _wins_tie(own, message, row, rows[at])):
            continue
        rows[at], ranks[at] = row, rank
    return made if 2 * made <= len(keys) else -1


@entry
def _thin(world: int, me: int) -> int:
    """The rows of a message that may be the best of their keys."""
    state, own = driven(world, me), own_record(world, me, Thinner)
    message = state.reply = state.message
    count = rows_of(message)
    if count < _LEAST_ROWS:
        return DONE
    if own.rests > 0:
        own.rests -= 1
        return DONE
    graph = world_at(world)
    if own.key >= 0:
        keys = column_of(message, own.key)
    else:
        told = records_at(own.told, own.key_columns, HashedColumn)
        keys = words_at(key_hashes(graph, message, told, own.texts), count)
    rows, ranks = words_at(claim(graph, 8 * count), count), words_at(claim(graph, 8 * count), count)
    made = _best_of_keys(own, message, keys, rows, ranks)
    if made < 0:
        own.rests = own.pause = min(2 * own.pause + 1, _LONGEST_PAUSE)
        return DONE
    own.pause = 0
    state.reply = only_rows(world, message, rows[:made])
    return DONE


def _compiled(
    schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool, equal_wins: bool
) -> CompiledLogic:
    own, told, ranks = Thinner(), hashed_key(schema, by), order_table(schema, orders, largest)
    cells, texts = shared_scratch(__name__, 1, 1 << _CELL_BITS), heap_of_words()
    is_word = len(by) == 1 and not is_hashed([schema.kind(by[0])])
    own.key = schema.position(by[0]) if is_word else -1
    own.told, own.key_columns = address_of(told), len(told)
    own.texts = address_of(texts) if len(texts) else 0
    own.orders, own.order_count, own.equal_wins = address_of(ranks), len(ranks), equal_wins
    own.cells = address_of(cells)
    return CompiledLogic(own.words, _thin, owners=(own, told, ranks, cells, texts))


def thinned(
    stream: AnyStream, name: str, by: Sequence[str], orders: Sequence[str], largest: bool, equal_wins: bool = False
) -> AnyStream:
    """The stream without rows that are not the best of their key in their message, where that pays: those with the
    largest (or smallest) value of the first of `orders`, of those with the least of the others, none of them text; of
    equal ones the first, or the last with equal_wins. Rows that have no rank may stay. by: columns of the key."""
    return mechanism_of(stream.scope).respond(
        f"{name}.local", (stream, Pipeline()), stream.schema, None, remembers=False, moves=(),
        compiled=lambda: _compiled(stream.schema, by, orders, largest, equal_wins),
    )  # fmt: skip
