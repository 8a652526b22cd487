"""The counter-based draws: fixed values, ranges, and a price that is right to the last digit."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenring.nexmark.events.draws import FIELDS, below, below_wide, draw, price, seed_key

_MASK = (1 << 64) - 1


def splitmix64(state: int) -> int:
    """The reference, one number at a time."""
    z = state & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def test_splitmix64_reference_gives_its_published_first_value() -> None:
    # The first output of splitmix64 seeded with 0.
    assert splitmix64(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF


@given(st.integers(0, _MASK), st.integers(0, 2**53), st.integers(0, FIELDS - 1))
def test_a_draw_is_splitmix64_at_its_place(key: int, number: int, field: int) -> None:
    place = key + (number * FIELDS + field + 1) * 0x9E3779B97F4A7C15
    assert int(draw(key, np.array([number]), field)[0]) == splitmix64(place)


def test_seeds_are_spread() -> None:
    keys = [seed_key(seed) for seed in range(1000)]
    assert len(set(keys)) == 1000
    differing_bits = [(a ^ b).bit_count() for a, b in pairwise(keys)]
    assert 28 < np.mean(differing_bits) < 36


@given(st.integers(0, _MASK), st.integers(1, 2**31))
def test_below_stays_below(bits: int, limit: int) -> None:
    array = np.array([bits], dtype=np.uint64)
    assert int(below(array, limit)[0]) == (bits >> 32) * limit >> 32
    assert int(below_wide(array, np.array([limit]))[0]) == bits % limit


@given(st.integers(0, _MASK))
def test_a_price_is_the_formula_rounded(bits: int) -> None:
    got = int(price(np.array([bits], dtype=np.uint64))[0])
    with localcontext() as context:
        context.prec = 40
        uniform = Decimal(bits >> 28) / Decimal(1 << 36)
        exact = Decimal(10) ** (6 * uniform) * 100
    # Three roundings of doubles away from the exact value: only a value that close to a half may go either way.
    assert abs(Decimal(got) - exact) <= Decimal("0.5") + exact * Decimal(2) ** -50


def test_the_least_and_greatest_price() -> None:
    assert price(np.array([0, _MASK], dtype=np.uint64)).tolist() == [100, 100_000_000]
