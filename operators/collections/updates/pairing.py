"""Pairs of updates with equal keys: at the least upper bound of their times, as often as both together."""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN, product
from tokenring.operators.collections.updates.finding import distinct_keys, rows_of_keys
from tokenring.operators.collections.updates.reducing import KEY, MADE

# Where a call goes on, behind the key and how many pairs were made: the row of it, the row of the other side.
_ROW, _OTHER = range(MADE + 1, MADE + 3)
PAIR_WORDS = MADE + 3


@kernel(int64(TABLE, int64, int64, int64, TABLE, WORDS, TABLE, WORDS, int64, WORDS, TABLE))
def pair_some(asked, number, depth, is_left, mine, bounds, others, other_bounds, most, state, target):  # type: ignore[no-untyped-def]
    """Write pairs, from where `state` stands on, behind no row, `most` at most; 1 if there may be more. TOO_OFTEN: the
    pair behind the state[MADE] that were made would be there too often; its time is written.

    asked: (keys, number); mine, others: rows of these keys as `rows_of_keys` gives them. target: (keys, values of the
    left, values of the right, coordinates, multiplicity; at least most). is_left: whether `mine` are the left ones.
    """
    keys = len(asked)
    values, other_values = len(mine) - depth - 1, len(others) - depth - 1
    first = keys if is_left else keys + other_values
    other_first = keys + values if is_left else keys
    times = keys + values + other_values
    made, key, row, other = 0, state[KEY], state[_ROW], state[_OTHER]
    while key < number:
        start, stop = other_bounds[key], other_bounds[key + 1]
        row = max(row, bounds[key])
        if start == stop:
            row = bounds[key + 1]
        while row < bounds[key + 1]:
            other = max(other, start)
            while other < stop:
                if made == most:
                    state[KEY], state[_ROW], state[_OTHER], state[MADE] = key, row, other, made
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
                    state[MADE] = made
                    return TOO_OFTEN
                target[times + depth, made] = often
                made += 1
                other += 1
            other = 0
            row += 1
        row = 0
        key += 1
    state[KEY], state[_ROW], state[_OTHER], state[MADE] = key, 0, 0, made
    return 0


@kernel(int64(WORDS, int64, int64, int64, int64, int64, TABLE, TABLE))
def pair_few(spine, least, before, keys, depth, is_left, batch, target):  # type: ignore[no-untyped-def]
    """All pairs of a batch with what a spine has in the additions before one, as `rows_of_keys` and `pair_some` have
    them; how many, -1 if there is no room for them in target, or one would be there too often."""
    rows = batch.shape[1]
    asked, bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
    number = distinct_keys(batch, rows, keys, asked, bounds)
    others, other_bounds = rows_of_keys(spine, least, before, keys, asked, number)
    pairs = 0
    for key in range(number):
        pairs += (bounds[key + 1] - bounds[key]) * (other_bounds[key + 1] - other_bounds[key])
    if pairs > target.shape[1]:
        return -1
    state = np.zeros(PAIR_WORDS, np.int64)
    status = pair_some(asked, number, depth, is_left, batch[keys:], bounds, others, other_bounds, pairs, state, target)
    return pairs if status != TOO_OFTEN else -1
