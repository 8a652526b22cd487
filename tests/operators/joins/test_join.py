"""join without windows: every pair once, at the later of both times, whatever comes first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tests.operators.joins.reference import COLUMNS, LEFT, ON, RIGHT, Row, feed, kept, messages, pairs
from tokenring.engine import GraphError, OperatorError, Schema, SchemaError, Scope, Stream
from tokenring.operators import join


def declare(left: Stream, right: Stream) -> Stream:
    return join(left, right, on=ON, columns=COLUMNS)


@settings(max_examples=examples(30))
@given(sent=messages(), size=st.integers(1, 12), workers=st.integers(1, 3))
def test_like_nested_loops(sent: list[tuple[int, Row]], size: int, workers: int) -> None:
    with bench([LEFT, RIGHT], declare, workers, queue_bytes=1 << 16) as made:
        feed(made, sent, size, workers, 0)
        made.close()
        assert sorted([row[2:] for row in made.rows], key=repr) == pairs(sent, lambda left, right: True)


def test_a_pair_is_sent_at_the_later_time_as_soon_as_it_is_there() -> None:
    with bench([Schema("k a"), Schema("k b")], lambda left, right: join(left, right, on="k"), 2) as made:
        made.send({"k": [1, 2], "a": [10, 20]}, time=7)
        made.send({"k": [1], "a": [11]}, time=9)
        made.send({"k": [1, 2, 3], "b": [5, 6, 7]}, to=1, worker=1, time=3)
        made.settle()
        assert made.sent() == [(7, 1, 10, 5), (7, 2, 20, 6), (9, 1, 11, 5)]
        made.send({"k": [2, 1], "b": [8, 9]}, to=1, worker=1, time=8)
        made.settle()
        assert made.sent() == [(8, 1, 10, 9), (8, 2, 20, 8), (9, 1, 11, 9)]
        made.close()


def test_a_hot_key_and_many_rows() -> None:
    """More pairs than one message of results holds, and stores that grow."""
    many = 20_000
    with bench(
        [Schema("k a"), Schema("k b")], lambda left, right: join(left, right, on="k"), queue_bytes=1 << 20
    ) as made:
        made.send({"k": range(many), "a": range(many)})
        made.send({"k": [5] * 200, "a": range(many, many + 200)})
        made.send({"k": [5] * 200 + [many - 1], "b": range(201)}, to=1)
        made.close()
        assert len(made.rows) == len(set(made.rows)) == 201 * 200 + 1
        assert (0, 0, many - 1, many - 1, 200) in made.rows


@pytest.mark.parametrize("ended", [0, 1])
def test_rows_are_not_kept_where_nobody_comes_any_more(ended: int) -> None:
    schemas = [Schema("k a", name="string"), Schema("k b")]
    with bench(schemas, lambda left, right: join(left, right, on="k")) as made:
        rows = [{"k": [1, 2], "a": [10, 20], "name": ["x", "y"]}, {"k": [2, 3], "b": [5, 6]}]
        made.send(rows[1 - ended], to=1 - ended)
        made.send(rows[ended], to=ended)
        made.settle()
        assert kept(made, "join") == (2, 2)
        made.inputs[0][ended].close()
        made.settle()
        unknown = [{"k": [9, 8], "a": [1, 1], "name": ["", ""]}, {"k": [9, 8], "b": [1, 1]}]
        made.send(unknown[1 - ended], to=1 - ended)
        made.send(rows[1 - ended], to=1 - ended)
        made.settle()
        assert kept(made, "join") == (2, 2)
        assert [row[1:] for row in made.sent()] == [(2, 20, "y", 5)] * 2


@pytest.mark.parametrize("unique", ["left", "right"])
def test_rows_go_once_they_have_met_the_only_one_of_their_key(unique: str) -> None:
    sides = [Schema("k a", name="string"), Schema("k b", text="string")]
    with bench(sides, lambda left, right: join(left, right, on="k", unique=unique), 2, queue_bytes=1 << 16) as made:
        only = ("left", "right").index(unique)
        many = 1 - only
        names = [schema.names for schema in sides]
        for start in range(0, 60, 20):
            keys = range(start, start + 20)
            rows = {many: ([*keys, *keys], range(40), [f"m{key}" for key in [*keys, *keys]])}
            rows[only] = ([*keys], range(20), [f"o{key}" for key in keys])
            for side in (only, many) if start == 20 else (many, only):
                made.send(dict(zip(names[side], rows[side], strict=True)), to=side)
                made.settle()
            assert kept(made, "join")[only] == start + 20
            assert kept(made, "join")[many] == 0
        assert len(made.rows) == 120
        texts = {row[2 + at] for row in made.rows for at in (2, 4)}
        assert texts == {f"{side}{key}" for side in "mo" for key in range(60)}
        made.send({"k": [7], names[only][1]: [1], names[only][2]: ["again"]}, to=only)
        with raises(OperatorError, "operator 'join'", "worker 0", f"{unique} side", "second row with k=7", "unique"):
            made.settle()


@pytest.mark.parametrize(
    ("kind", "ours", "theirs"),
    [
        ("timestamp", [5, 6], [6, 7]),
        ("float64?", [-0.0, None], [1.5, 0.0]),
        ("uint64", np.array([1, 2**63 + 1], np.uint64), np.array([2**63 + 1, 2], np.uint64)),
        ("bool?", [True, None], [True, None]),
        ("bytes", [b"", b"x"], [b"xx", b""]),
    ],
)
def test_keys_of_any_kind(kind: str, ours: Any, theirs: Any) -> None:
    """Of two rows on each side one of each has an equal key; null is equal to nothing."""
    sides = [Schema("a", k=kind), Schema("b", k=kind)]
    with bench(sides, lambda left, right: join(left, right, on="k", columns="a b"), 2, queue_bytes=1 << 16) as made:
        made.send({"a": [0, 1], "k": ours})
        made.send({"b": [0, 1], "k": theirs}, to=1, worker=1)
        made.close()
        matching = [(0, a, b) for a in (0, 1) for b in (0, 1) if ours[a] == theirs[b] and ours[a] is not None]
        assert made.sent() == matching and len(matching) == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "cure"),
    [
        ("decimal(9, 2)", "decimal(12, 3)?", '.cast("decimal(12, 3)") of the other'),
        ("decimal(9, 2)", "decimal(9, 3)", '.cast("decimal(10, 3)") of both'),
        ("decimal(18, 2)", "decimal(18, 18)", "cast one of them"),
        ("decimal(9, 0)", "int64", "cast one of them"),
    ],
)
def test_decimals_of_two_kinds_are_refused_with_the_kind_that_holds_both(ours: str, theirs: str, cure: str) -> None:
    scope = Scope("decimals")
    left, right = [scope.new_input(Schema(k=kind))[1] for kind in (ours, theirs)]
    with raises(SchemaError, ours, theirs, cure):
        join(left, right, on="k", columns="k")


SIDES = ("at, key, n, name", "at, code, n, text")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"on": "when"}, ("column 'when' of the left side", "at, key, n, name")),
        ({"on": {"key": "at"}}, ("'key' of the left side is string?", "'at' of the right side is int64", "cast")),
        ({"on": ()}, ("nothing to join on", "on='column'", "with_columns(all=lit(0))")),
        ({"on": ON}, ("two columns", "called 'at'", *SIDES, "columns={'mine': 'left.at', 'theirs': 'right.at'}")),
        ({"on": ON, "columns": "left.at right.at"}, ("two columns", "called 'at'", *SIDES, "columns={'mine'")),
        ({"on": ON, "columns": "at"}, ("'at'", "both sides", *SIDES, "'left.at' or 'right.at'")),
        ({"on": ON, "columns": "price"}, ("column 'price'", *SIDES)),
        ({"on": ON, "columns": {"x": "left.code"}}, ("column 'code' of the left side", "at, key, n, name")),
        ({"on": ON, "columns": "n", "late": True}, ("late=True", "window=Tumbling('time', width)")),
        ({"on": ON, "columns": "n", "how": "outer"}, ("'inner', 'left', 'right', 'full'", "'anti'", "not 'outer'")),
        ({"on": ON, "columns": "n", "unique": "both"}, ("unique", "'left', 'right' or None", "not 'both'")),
    ],
)  # fmt: skip
def test_mistakes(arguments: dict[str, Any], says: Fact) -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, "operator 'join'", says):
            join(left, right, **arguments)
        return left

    with bench([LEFT, RIGHT], refused):
        pass


def test_not_in_loops() -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with (
            left.scope.loop("loop") as loop,
            raises(GraphError, "operator 'join'", "loop 'loop'", "leave"),
        ):
            join(loop.enter(left), loop.enter(right), on=ON, columns="n")
        return left

    with bench([LEFT, RIGHT], refused):
        pass
