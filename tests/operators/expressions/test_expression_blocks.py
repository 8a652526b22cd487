"""The machine's integer arithmetic, at every corner of 64 bits: right, or a fault of that very row."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tokenring.engine.raw import address_of
from tokenring.operators.expressions.machine import blocks

LEAST, MOST = -(2**63), 2**63 - 1
CORNERS = [0, 1, -1, 2, -2, 3, 7, 2**31, 2**32, -(2**31), 3037000499, 3037000500, -3037000500, 2**62]
CORNERS += [MOST, LEAST, LEAST + 9]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": operator.add,
    "SUB": operator.sub,
    "MUL": operator.mul,
    "DIV": operator.floordiv,
    "MOD": operator.mod,
}


def exact(function: Callable[[Any, Any], Any], x: int, y: int, least: int, most: int) -> int | None:
    try:
        result: int = function(x, y)
    except ZeroDivisionError:
        return None
    return result if least <= result <= most else None


@pytest.mark.parametrize("name", OPERATIONS)
def test_int64(name: str) -> None:
    chance = random.Random(1)
    values = CORNERS + [chance.randint(LEAST, MOST) for _ in range(8)]
    op = getattr(blocks, f"INT_{name}")
    for y in values:
        expected = [exact(OPERATIONS[name], x, y, LEAST, MOST) for x in values]
        a, b = np.array(values), np.full(len(values), y)
        made = np.zeros(len(values), np.int64)
        addresses = address_of(made), address_of(a), address_of(b), len(values)
        magic, shift = blocks.magic_for(y) if y > 1 else (0, 0)
        for constant in (0, 1 + shift):
            noticed = blocks.whole(op, *addresses, constant, magic)
            assert noticed or None not in expected, (y, constant)
            assert [one for one, right in zip(made.tolist(), expected, strict=True) if right is not None] == [
                right for right in expected if right is not None
            ], (y, constant)
        for at, right in enumerate(expected):
            fault = blocks.first_fault(op, address_of(a, at), address_of(b, at), 0, 1)
            assert (fault == 0) == (right is None), (values[at], y)


@pytest.mark.parametrize("name", ["DIV", "MOD"])
def test_small_numbers_divided_by_one(name: str) -> None:
    """Beside every multiple, where a reciprocal that is rounded is most easily one off, and at both bounds."""
    chance = random.Random(2)
    bound = 2**blocks.SMALL_BITS - 1
    op = getattr(blocks, f"INT_{name}")
    for divisor in (2, 3, 7, 10, 100, 123, 2**31 - 1, 2**40 + 15, bound - 1, bound):
        most = bound // divisor
        quotients = {0, 1, most - 1, most, *(chance.randint(0, most) for _ in range(50))}
        near = {quotient * divisor + more for quotient in quotients for more in (-1, 0, 1)} | {bound}
        values = sorted({sign * value for value in near for sign in (1, -1) if abs(value) <= bound})
        a, b, made = np.array(values), np.full(len(values), divisor), np.zeros(len(values), np.int64)
        magic, shift = blocks.magic_for(divisor)
        assert not blocks.whole(op, address_of(made), address_of(a), address_of(b), len(values), 1 + shift, magic)
        assert made.tolist() == [OPERATIONS[name](value, divisor) for value in values], divisor


@pytest.mark.parametrize("name", OPERATIONS)
def test_uint64(name: str) -> None:
    values = [0, 1, 2, 3, 7, 2**32, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
    op = getattr(blocks, f"UINT_{name}")
    for y in values:
        expected = [exact(OPERATIONS[name], x, y, 0, 2**64 - 1) for x in values]
        a, b = np.array(values, np.uint64), np.full(len(values), y, np.uint64)
        made = np.zeros(len(values), np.uint64)
        noticed = blocks.unsigned(op, address_of(made), address_of(a), address_of(b), len(values))
        assert noticed == (None in expected)
        for at, right in enumerate(expected):
            fault = blocks.first_fault(op, address_of(a, at), address_of(b, at), 0, 1)
            assert (fault == 0) == (right is None), (values[at], y)
            assert right is None or made[at] == right
