"""Pairs of updates with equal keys: at the least upper bound of their times, as often as both together."""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.engine.compiled import Record, Words, record_of
from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN, product
from tokenring.operators.collections.updates.finding import distinct_keys, rows_of_keys


class Paired(Record):
    """Where a call goes on: the key; how many pairs were made; the row of the key, and that of the other side."""

    key: int
    made: int
    row: int
    other: int


PAIR_WORDS = Paired.size


@kernel(int64(TABLE, int64, int64, int64, TABLE, WORDS, TABLE, WORDS, int64, WORDS, TABLE))
def pair_some(
    asked: Words, number: int, depth: int, is_left: int, mine: Words, bounds: Words, others: Words, other_bounds: Words,
    most: int, state: Words, target: Words,
) -> int:  # fmt: skip
    """Write pairs, from where the Paired in `state` stands on, behind no row, `most` at most; 1 if there may be more.
    TOO_OFTEN: the pair behind those that were made would be there too often; its time is written.

    asked: (keys, number); mine, others: rows of these keys as `rows_of_keys` gives them. target: (keys, values of the
    left, values of the right, coordinates, multiplicity; at least most). is_left: whether `mine` are the left ones.
    """
    keys, at_hand = len(asked), record_of(state, Paired)
    values, other_values = len(mine) - depth - 1, len(others) - depth - 1
    first = keys if is_left else keys + other_values
    other_first = keys + values if is_left else keys
    times = keys + values + other_values
    made, key, row, other = 0, at_hand.key, at_hand.row, at_hand.other
    while key < number:
        start, stop = other_bounds[key], other_bounds[key + 1]
        row = max(row, bounds[key])
        if start == stop:
            row = bounds[key + 1]
        while row < bounds[key + 1]:
            other = max(other, start)
            while other < stop:
                if made == most:
                    at_hand.key, at_hand.row, at_hand.other, at_hand.made = key, row, other, made
                    return 1
                for column in range(keys):
                    target[column, made] = asked[column, key]
                for column in range(values):
                    target[first + column, made] = mine[column, row]
                for column in range(other_values):
                    target[other_first + column, made] = others[column, other]
                for at in range(depth):
                    target[times + at, made] = max(mine[values + at, row], others[other_values + at, other])
                often, can_be = product(mine[values + depth, row], others[other_values + depth, other])
                if not can_be:
                    at_hand.made = made
                    return TOO_OFTEN
                target[times + depth, made] = often
                made += 1
                other += 1
            other = 0
            row += 1
        row = 0
        key += 1
    at_hand.key, at_hand.row, at_hand.other, at_hand.made = key, 0, 0, made
    return 0


@kernel(int64(int64, int64, int64, int64, int64, int64, TABLE, TABLE))
def pair_few(
    address: int, least: int, before: int, keys: int, depth: int, is_left: int, batch: Words, target: Words
) -> int:
    """All pairs of a batch with what a spine has in the additions before one, as `rows_of_keys` and `pair_some` have
    them; how many, -1 if there is no room for them in target, or one would be there too often. address: of its state.
    """
    rows = batch.shape[1]
    asked, bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
    number = distinct_keys(batch, rows, keys, asked, bounds)
    others, other_bounds = rows_of_keys(address, least, before, keys, asked, number)
    pairs = 0
    for key in range(number):
        pairs += (bounds[key + 1] - bounds[key]) * (other_bounds[key + 1] - other_bounds[key])
    if pairs > target.shape[1]:
        return -1
    state = np.zeros(PAIR_WORDS, np.int64)
    status = pair_some(asked, number, depth, is_left, batch[keys:], bounds, others, other_bounds, pairs, state, target)
    return pairs if status != TOO_OFTEN else -1
