"""Rows that cannot be the best of their key, since one of the same message is better, need not go to who ranks them.

A small table says which row may be the best of a key; where another key has taken its cell, the key gets a second row.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import AnyStream, Pipeline, Schema, kernel, text_equal
from tokenring.engine.compiled import (
    DONE,
    Record,
    RoutingKey,
    Words,
    address_of,
    column_of,
    entry,
    hashed_columns,
    lease,
    link_routing_key,
    records_at,
    routing_words,
    rows_of,
    signed,
    unsigned,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, mechanism_of, own_record
from tokenring.operators.ranking.best import Order, has_rank, order_table, order_word
from tokenring.operators.rows import LeavingOut, is_in_vain, is_looked_at, left_of
from tokenring.operators.state import shared_scratch

_CELL_BITS = 12  # so that the table stays in a core's innermost cache
_MIXED = unsigned(0x9E3779B97F4A7C15)


class Thinner(Record):
    """`orders`: the Orders, `order_count` of them. `cells`: room for a number each."""

    key: RoutingKey
    leaving: LeavingOut
    orders: int
    order_count: int
    equal_wins: int
    cells: int


@kernel
def _is_of_key(own: Thinner, message: int, row: int, other: int, texts: int) -> bool:
    """Whether two rows, which go by the same word, are of one key. Not so where words differ that are one value, as the
    zeros of floats."""
    key = hashed_columns(own.key)
    for at in range(0 if own.key.column >= 0 else len(key)):
        words = column_of(message, key[at].position)
        one, two = words[row], words[other]
        if one != two:
            is_text = key[at].is_text != 0 and one >= 0 and two >= 0
            if not (is_text and text_equal(one, texts, two, texts)):
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
def _best_of_keys(own: Thinner, message: int, keys: Words, rows: Words, ranks: Words, texts: int) -> int:
    """Write the rows of which none of the same key is known to be better, those of a key in order; returns how many, -1
    if a look at them was in vain. keys: a word of each row, equal for equal keys; ranks: room for a word a row.
    texts: what words of text point into."""
    order = records_at(own.orders, own.order_count, Order)[0]
    values, cells = column_of(message, order.position), words_at(own.cells, 1 << _CELL_BITS)
    numbers = values.view(np.float64)
    made = at = home = last = 0
    for row in range(len(keys)):
        if is_in_vain(made, row):
            return -1
        if not has_rank(order, values[row], numbers[row]):
            continue
        rank = order_word(order, values[row], numbers[row])
        if made == 0 or keys[row] != last:  # those of one key often follow each other, as those of a window do
            last = keys[row]
            home = signed((unsigned(last) * _MIXED) >> unsigned(64 - _CELL_BITS))
            at = cells[home]
        if at >= made or keys[row] != keys[rows[at]] or not _is_of_key(own, message, row, rows[at], texts):
            cells[home] = at = made
            made += 1
        elif rank > ranks[at] or (rank == ranks[at] and not _wins_tie(own, message, row, rows[at])):
            continue
        rows[at], ranks[at] = row, rank
    return made


@entry
def _thin(world: int, me: int) -> int:
    """The rows of a message that may be the best of their keys."""
    state, own = driven(world, me), own_record(world, me, Thinner)
    message = state.reply = state.message
    if not is_looked_at(own.leaving, message):
        return DONE
    graph, count = world_at(world), rows_of(message)
    keys = routing_words(graph, message, own.key)
    rows, ranks = words_at(lease(graph, 8 * count), count), words_at(lease(graph, 8 * count), count)
    made = _best_of_keys(own, message, keys, rows, ranks, graph.text_base)
    state.reply = left_of(graph, own.leaving, message, rows, made)
    return DONE


def _compiled(
    schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool, equal_wins: bool
) -> CompiledLogic:
    own, ranks = Thinner(), order_table(schema, orders, largest)
    key, cells = link_routing_key(own.key, schema, by), shared_scratch(__name__, 1, 1 << _CELL_BITS)
    own.orders, own.order_count, own.equal_wins = address_of(ranks), len(ranks), equal_wins
    own.cells = address_of(cells)
    return CompiledLogic(own.words, _thin, owners=(own, key, ranks, cells))


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
