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
    addresses_of,
    bare_message,
    claim,
    column_of,
    entry,
    gathered,
    hashed_key,
    heap_of_words,
    key_hashes,
    point_to,
    records_at,
    rows_of,
    signed,
    table_at,
    unsigned,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, mechanism_of, own_record
from tokenring.operators.ranking.best import Order, order_table, rank_rows
from tokenring.operators.ranking.top_state import comes_before

_CELL_BITS = 12  # so that the table stays in a core's innermost cache
_LEAST_ROWS = 64  # of fewer, it is not worth the while to leave out some
_PIECE_ROWS = 4096  # after which it is asked whether it pays
_LONGEST_PAUSE = 31
_MIXED = unsigned(0x9E3779B97F4A7C15)


class Thinner(Record):
    """`key`: where the HashedColumns of `key_columns` are; `texts`: what texts among them point into. `orders`: the
    Orders, `order_count` of them. `cells`: room for a row's number each. After messages at which it did not pay, ever
    more, `pause`, pass as they are; so many are left, `rests`."""

    key: int
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
    """Whether two rows are of one key. Not so where words differ that are one value, as the zeros of floats."""
    key = records_at(own.key, own.key_columns, HashedColumn)
    for at in range(len(key)):
        words = column_of(message, key[at].position)
        one, two = words[row], words[other]
        if one != two:
            is_text = key[at].is_text != 0 and one >= 0 and two >= 0
            if not (is_text and text_equal(one, own.texts, two, own.texts)):
                return False
    return True


@kernel
def _best_of_keys(own: Thinner, message: int, rows: Words, orders: Words, hashes: Words) -> int:
    """Leave in `rows` those of its rows, in order, of which none of the same key is known to be better; `orders` has
    theirs. Returns how many; -1 if more than half are."""
    cells, made = words_at(own.cells, 1 << _CELL_BITS), 0
    for i in range(len(rows)):
        if i % _PIECE_ROWS == 0 and 2 * made > i:
            return -1
        row = rows[i]
        home = signed((unsigned(hashes[row]) * _MIXED) >> unsigned(64 - _CELL_BITS))
        at = cells[home]
        if at >= made or hashes[row] != hashes[rows[at]] or not _is_of_key(own, message, row, rows[at]):
            cells[home], at = made, made
            made += 1
        elif not comes_before(orders, i, orders[at], 0, own.equal_wins != 0):
            continue
        rows[at] = row  # what was there has been looked at: there are never more best rows than rows before
        for column in range(orders.shape[1]):
            orders[at, column] = orders[i, column]
    return made if 2 * made <= len(rows) else -1


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
    rows, words = words_at(claim(graph, 8 * count), count), claim(graph, 8 * count * own.order_count)
    orders = table_at(words, count, own.order_count)
    ranked = rank_rows(records_at(own.orders, own.order_count, Order), message, 0, rows, rows, orders)
    key = records_at(own.key, own.key_columns, HashedColumn)
    hashes = words_at(key_hashes(graph, message, key, own.texts), count)
    made = _best_of_keys(own, message, rows[:ranked], orders, hashes)
    if made < 0:
        own.rests = own.pause = min(2 * own.pause + 1, _LONGEST_PAUSE)
        return DONE
    own.pause = 0
    width = len(addresses_of(message))
    state.reply = bare_message(graph, width, made)
    for column in range(width):
        point_to(state.reply, column, gathered(graph, column_of(message, column), rows[:made]))
    return DONE


def _compiled(
    schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool, equal_wins: bool
) -> CompiledLogic:
    own, key, ranks = Thinner(), hashed_key(schema, by), order_table(schema, orders, largest)
    cells, texts = np.zeros(1 << _CELL_BITS, np.int64), heap_of_words()
    own.key, own.key_columns = address_of(key), len(key)
    own.texts = address_of(texts) if len(texts) else 0
    own.orders, own.order_count, own.equal_wins = address_of(ranks), len(ranks), equal_wins
    own.cells = address_of(cells)
    return CompiledLogic(own.words, _thin, owners=(own, key, ranks, cells, texts))


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
