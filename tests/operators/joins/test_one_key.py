"""A key that has many rows on each side costs what its result does, in pieces, not their square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.operators.helpers import bench
from tests.operators.joins.reference import kept
from tokenring.engine import InputPort, OperatorContext, OutputPort, Schema, Stream, Token
from tokenring.operators import Tumbling, interval_join, join
from tokenring.operators.joins.compiled.words import AT_MOST
from tokenring.operators.joins.kept import AT_ONCE

A, B = Schema("at k a"), Schema("at k b")
MANY = 200_000


def counted(pairs: Stream, sizes: list[int]) -> Stream:
    """Note how many rows come at a time, and let none of them pass."""

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        return lambda port, output: sizes.append(sum([batch.rows for _, batch in port]))

    return pairs.unary("counted", pairs.schema, construct)


def rows(many: int, at: Any, last: str) -> dict[str, Any]:
    return {"at": np.broadcast_to(at, many).copy(), "k": np.full(many, 7), last: np.arange(many)}


@pytest.mark.parametrize("unique", [None, "right"])
def test_pairs_come_in_pieces(unique: str | None) -> None:
    """Whether rows meet rows that are kept, or one row meets all that wait for it."""
    sizes: list[int] = []
    each, other = (3_000, 3_000) if unique is None else (MANY, 1)
    with bench(
        [A, B], lambda left, right: counted(join(left, right, on="k", columns="a b", unique=unique), sizes),
        queue_bytes=1 << 20,
    ) as made:  # fmt: skip
        made.send(rows(each, 0, "a"))
        made.settle()
        made.send(rows(other, 0, "b"), to=1, time=3)
        made.inputs[0][0].advance_to(5)
        made.inputs[0][1].advance_to(5)
        made.settle()
        assert AT_MOST <= max(sizes) <= AT_MOST + AT_ONCE
        assert sum(sizes) == each * other and kept(made, "join") == ((each, other) if unique is None else (0, 1))
        made.close()
        assert sum(sizes) == each * other


def test_both_sides_go_on_where_they_were() -> None:
    """New rows of the other side do not come between the pieces of a row's pairs."""
    sizes: list[int] = []
    with bench(
        [A, B], lambda left, right: counted(join(left, right, on="k", columns="a b"), sizes), queue_bytes=1 << 20
    ) as made:
        made.send(rows(2_000, 0, "a"))
        made.settle()
        for time in range(1, 6):
            made.send(rows(300, 0, "b"), to=1, time=time)
            made.send(rows(300, 0, "a"), to=0, time=time)
            made.group.workers[0].step()
        made.settle()
        assert sum(sizes) == (2_000 + 5 * 300) * 5 * 300
        made.close()


@pytest.mark.parametrize("how", ["semi", "anti"])
@pytest.mark.parametrize("kind", ["at any times", "by window", "within bounds"])
@pytest.mark.parametrize("first", [0, 1])
def test_whether_there_is_a_match_is_not_asked_of_every_pair(how: str, kind: str, first: int) -> None:
    sizes: list[int] = []

    def declare(left: Stream, right: Stream) -> Stream:
        if kind == "within bounds":
            joined = interval_join(left, right, on="k", left_time="at", right_time="at", lower=-5, upper=5, how=how)
        else:
            joined = join(left, right, on="k", how=how, window=Tumbling("at", 10) if kind == "by window" else None)
        return counted(joined, sizes)

    with bench([A, B], declare, queue_bytes=1 << 24) as made:
        for side in (first, 1 - first):
            made.send(rows(MANY, np.arange(MANY) % 4, "ab"[side]), to=side)
            made.settle()
        made.send(rows(MANY, 55, "a"), time=50)
        made.send(rows(MANY, 75, "b"), to=1, time=70)
        made.settle()
        made.close()
        if kind == "at any times":
            assert sum(sizes) == (2 * MANY if how == "semi" else 0)
        else:
            assert sum(sizes) == MANY  # the first left rows match, the second have none


def test_rows_far_behind_are_not_looked_at() -> None:
    """Rows that nothing meets any more, while the other side's frontier keeps them."""
    sizes: list[int] = []

    def declare(left: Stream, right: Stream) -> Stream:
        pairs = interval_join(left, right, on="k", left_time="at", right_time="at", upper=3, columns="a b")
        return counted(pairs, sizes)

    with bench([A, B], declare, queue_bytes=1 << 24) as made:
        made.send(rows(MANY, np.arange(MANY), "a"))
        made.settle()
        made.send(rows(MANY, MANY + np.arange(MANY), "b"), to=1)
        made.settle()
        assert sum(sizes) == 6 and kept(made, "interval_join") == (MANY, MANY)
        made.advance(4 * MANY)
        assert kept(made, "interval_join") == (0, 0)
        made.close()
