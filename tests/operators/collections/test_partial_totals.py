"""Parts of totals: many rows of a key and time become few updates, which add up to the same."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tokenring.engine import Schema
from tokenring.operators.collections.updates import Parts, SummedColumn
from tokenring.operators.collections.words import kinds_table
from tokenring.operators.folds import SUM

COUNTED, LOW, HIGH = range(3)  # the parts: how many rows; the halves of the sum
HALF_BITS = 32
MOST = 2**63 - 1


def parts() -> Parts:
    """Of rows (k, v): how many of each k, and the sum of v."""
    summed = SummedColumn.new_table(1)
    summed["column"], summed["how"], summed["first_part"], summed["present_part"] = 1, SUM, LOW, -1
    return Parts(1, 2, summed.view(np.int64).reshape(1, -1), kinds_table(Schema("k v").kinds))


def totals_of_parts(updates: np.ndarray) -> dict[tuple[int, ...], tuple[int, int]]:
    """Of each (key, *time) how many rows there are, and their sum, where one is not 0."""
    found: dict[tuple[int, ...], list[int]] = {}
    for key, part, *time, often in updates.T.tolist():
        found.setdefault((key, *time), [0, 0, 0])[part] += often
    sums = {at: (sums[COUNTED], sums[LOW] + (sums[HIGH] << HALF_BITS)) for at, sums in found.items()}
    return {at: both for at, both in sums.items() if any(both)}


def totals_of_rows(updates: np.ndarray) -> dict[tuple[int, ...], tuple[int, int]]:
    """The same of rows, row by row."""
    counts, sums = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for key, value, *time, often in updates.T.tolist():
        counts[key, *time] += often
        sums[key, *time] += value * often
    return {at: (counts[at], sums[at]) for at in counts if counts[at] or sums[at]}


@pytest.mark.parametrize(
    ("keys", "times", "most"), [(3, 2, 100), (700, 2, 7_000), (3, 2_000, 30_000), (1 << 40, 2, 40_000)]
)
def test_many_rows_are_few_parts_and_add_up_to_the_same(keys: int, times: int, most: int) -> None:
    """most: how many updates there are at most of 12,000 rows of so many different keys and times of two coordinates;
    of keys that are all different three a row, and it is soon seen that adding up does not pay."""
    random = np.random.default_rng(keys)
    columns = [
        random.integers(0, keys, 12_000), random.integers(-5, 5, 12_000), np.full(12_000, 7),
        random.integers(0, times, 12_000), random.choice([-1, 1, 1, 3], 12_000),
    ]  # fmt: skip
    made = parts()(np.array(columns))
    assert totals_of_parts(made) == totals_of_rows(np.array(columns))
    assert made.shape[1] <= most


@pytest.mark.parametrize("signs", [[1, 1, -1, -1], [1, 1, 1, -1]])
def test_parts_that_go_beyond_64_bits_stay_apart(signs: list[int]) -> None:
    """Whether they come back, or not, is seen where all are put in order."""
    often = np.array(signs * 500) * MOST
    updates = np.array([np.zeros(2_000, np.int64), np.ones(2_000, np.int64), np.arange(2_000) % 2, often])
    assert totals_of_parts(parts()(updates)) == totals_of_rows(updates)
