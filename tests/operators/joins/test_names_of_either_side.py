"""Keys that are called otherwise on the right side: left_on and right_on, a mapping, and a renamed stream are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.errors import Fact, raises
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError, Stream
from tokenring.operators import enrich, interval_join, join, rename, temporal_join

LEFT = Schema("at id a", city="string")
RIGHT = Schema("since number b", town="string")
TABLE = {"number": [1, 2], "b": [5, 6], "town": ["Oslo", "Rome"], "since": [1, 1]}
OPERATORS: dict[str, Callable[..., Any]] = {
    "join": join,
    "interval_join": lambda left, right, **on: interval_join(
        left, right, left_time="at", right_time="since", lower=-10, upper=10, **on
    ),
    "temporal_join": lambda left, right, **on: temporal_join(left, right, time="at", version_time="since", **on),
    "enrich": enrich,
}
FORMS = (
    {"left_on": "id city", "right_on": ("number", "town")},
    {"on": {"id": "number", "city": "town"}},
    {"on": "id city"},  # of a renamed stream
)


@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize("called", OPERATORS)
def test_all_forms_are_one(called: str, form: int) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        if form == len(FORMS) - 1:
            right = rename(right, number="id", town="city")
        made: Stream = OPERATORS[called](left, right, how="left", **FORMS[form])
        assert made.schema.names == ("at", "id", "a", "city", "since", "b")
        return made

    with bench([LEFT, RIGHT], declare) as made:
        made.send(TABLE, to=1)
        made.settle()
        made.send({"at": [3, 4], "id": [1, 2], "a": [7, 8], "city": ["Oslo", "Bern"]})
        made.close()
        assert sorted([row[2:] for row in made.rows]) == [(3, 1, 7, "Oslo", 1, 5), (4, 2, 8, "Bern", None, None)]


def test_a_table_that_is_given() -> None:
    def declare(left: Stream) -> Stream:
        made = enrich(left, TABLE, left_on="id city", right_on="number town", columns="a b")
        assert made.schema == enrich(left, TABLE, on={"id": "number", "city": "town"}, columns="a b").schema
        return made

    with bench([LEFT], declare) as made:
        made.send({"at": [3, 4], "id": [1, 2], "a": [7, 8], "city": ["Oslo", "Bern"]})
        made.close()
        assert [row[2:] for row in made.rows] == [(7, 5)]


@pytest.mark.parametrize("called", OPERATORS)
@pytest.mark.parametrize(
    ("on", "says"),
    [
        ({"on": "id", "left_on": "id"}, ("on=", "left_on=", "right_on=", "not both")),
        ({}, ("nothing to join on", "on=", "left_on=", "right_on=")),
        ({"left_on": "id a", "right_on": "number"}, ("left_on=", "2 columns (id, a)", "right_on= 1 (number)")),
    ],
)
def test_mistakes(called: str, on: dict[str, str], says: Fact) -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, says):
            OPERATORS[called](left, right, **on)
        return left

    with bench([LEFT, RIGHT], refused):
        pass


@pytest.mark.parametrize("has", [Schema(id="int64", **{"right.a": "int64"}), Schema(id="int64")])
def test_a_column_that_is_called_as_one_of_a_side(has: Schema) -> None:
    """Either may be meant: it is asked for by the side that has it."""
    there = Schema(id="int64", a="int64", **({} if len(has.names) > 1 else {"right.a": "int64"}))
    side = "left" if len(has.names) > 1 else "right"

    def declare(left: Stream, right: Stream) -> Stream:
        facts = ("'right.a'", "'a' of the right side", f"of the {side} side", f"'{side}.right.a'", "rename")
        for columns in ("right.a", {"one": "right.a"}):
            with raises(SchemaError, *facts):
                join(left, right, on="id", columns=columns)
        made = join(left, right, on="id", columns=("id", f"{side}.right.a"))
        assert made.schema.names == ("id", "right.a")
        return made

    with bench([has, there], declare) as made:
        for to, schema in enumerate((has, there)):
            made.send({name: [1 if name == "id" else 7 if name == "a" else 8] for name in schema.names}, to=to)
        made.close()
        assert [row[2:] for row in made.rows] == [(1, 8)]
