"""Pairs of updates with equal keys: at the least upper bound of their times, as often as both together."""


from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.engine.compiled import Record, Words, record_of
from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN, product


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
