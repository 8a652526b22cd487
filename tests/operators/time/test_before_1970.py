"""Rows whose own times lie before 1970, where times begin, or at the end of 64 bits: refused by column and instant, or
right; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, Stream
from tokenring.operators import (
    CountDistinct,
    Session,
    Sliding,
    Tumbling,
    aggregate,
    count,
    interval_join,
    join,
    temporal_join,
    top,
)

SECOND = 1_000_000_000
OPERATORS: dict[str, Callable[[Stream], Any]] = {
    "tumbling": lambda s: count(s, "k", window=Tumbling("at", "10s")),
    "tumbling of all": lambda s: count(s, window=Tumbling("at", "10s")),
    "tumbling of sets": lambda s: aggregate(s, "k", window=Tumbling("at", "10s"), n=CountDistinct("at")),
    "tumbling in a zone": lambda s: count(s, "k", window=Tumbling("at", "1min", zone="Europe/Berlin")),
    "sliding": lambda s: count(s, "k", window=Sliding("at", "10s", "5s")),
    "session": lambda s: count(s, "k", window=Session("at", "10s")),
    "session of sets": lambda s: aggregate(s, "k", window=Session("at", "10s"), n=CountDistinct("at")),
    "top": lambda s: top(s, "k", order="at", k=1, window=Tumbling("at", "10s")),
    "join": lambda s: join(s, s, on="k", columns="left.at", window=Tumbling("at", "10s")),
    "sliding join": lambda s: join(s, s, on="k", columns="left.at", window=Sliding("at", "10s", "5s")),
    "interval_join": lambda s: interval_join(
        s, s, on="k", left_time="at", right_time="at", upper="2s", columns="left.at"
    ),
    "temporal_join": lambda s: temporal_join(s, s, on="k", time="at", version_time="at", columns="left.at"),
}
LATE: dict[str, Callable[[Stream], Any]] = {
    "tumbling": lambda s: count(s, "k", window=Tumbling("at", "10s"), late=True),
    "sliding": lambda s: count(s, "k", window=Sliding("at", "10s", "5s"), late=True),
    "session": lambda s: count(s, "k", window=Session("at", "10s"), late=True),
    "join": lambda s: join(s, s, on="k", columns="left.at", window=Tumbling("at", "10s"), late=True),
    "sliding join": lambda s: join(s, s, on="k", columns="left.at", window=Sliding("at", "10s", "5s"), late=True),
    "interval_join": lambda s: interval_join(
        s, s, on="k", left_time="at", right_time="at", upper="2s", columns="left.at", late=True
    ),
    "temporal_join": lambda s: temporal_join(s, s, on="k", time="at", version_time="at", columns="left.at", late=True),
}
SCHEMAS = [Schema(k="int64", at="timestamp"), Schema(k="string", at="timestamp")]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["numbers", "texts"])
@pytest.mark.parametrize("ats", [[-25], [-1], [3, -1], [3, -25, 12]], ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_they_are_refused_by_column_and_instant(name: str, ats: list[int], schema: Schema) -> None:
    keys = [1] * len(ats) if schema is SCHEMAS[0] else ["a"] * len(ats)
    with bench([schema], OPERATORS[name]) as made:
        made.send({"k": keys, "at": [at * SECOND for at in ats]})
        with raises(
            OperatorError,
            "'at'",
            {"1969-12-31T23:", "1970-01-01T00:00:00.000000000"},
            "1970",
            "leave",
        ):
            made.close()
        assert made.rows == []


@pytest.mark.parametrize("schema", SCHEMAS, ids=["numbers", "texts"])
@pytest.mark.parametrize("name", OPERATORS)
def test_a_row_at_the_end_of_64_bits_is_refused_too(name: str, schema: Schema) -> None:
    """It was lost, or said to lie before 1970. pandas calls it the greatest instant."""
    with bench([schema], OPERATORS[name]) as made:
        made.send({"k": [1, 1] if schema is SCHEMAS[0] else ["a", "a"], "at": [3 * SECOND, 2**63 - 1]})
        last = "2262-04-11T23:47:16.854775807"  # of rows, not of messages
        with raises(OperatorError, "'at'", "64 bits", last, "leave"):
            made.close()
        assert made.rows == []


@pytest.mark.parametrize("at", [-(2**63) + 5, 2**63 - 1], ids=["begin", "end"])
@pytest.mark.parametrize("name", OPERATORS)
def test_64_bits_do_not_come_round(name: str, at: int) -> None:
    """A row's window was at the other end of them: it was lost, or another row was named."""
    with bench([SCHEMAS[0]], OPERATORS[name]) as made:
        made.send({"k": [1, 1], "at": [3 * SECOND, at]})
        with raises(OperatorError, "'at'", {"1677-09-21T", "2262-04-11T23:47:16.854775807"}, "leave"):
            made.close()
        assert made.rows == []


@pytest.mark.parametrize("at", [-(2**63) + 5, 2**63 - 1], ids=["begin", "end"])
@pytest.mark.parametrize("name", [*LATE])
def test_late_is_what_lies_before(name: str, at: int) -> None:
    """And not what has no end that 64 bits have, which was said to be late."""

    def program(worker: tr.Worker) -> list[list[int]]:
        with worker.dataflow("late") as scope:
            rows = scope.read_arrow(pa.table({"k": [1, 1], "at": pa.array([3 * SECOND, at], pa.timestamp("ns"))}))
            _, *late = [each.collect() for each in LATE[name](rows)]
        worker.run()
        return [rows.batch().words("at").tolist() for rows in late]

    if at > 0:
        with raises(OperatorError, "'at'", "64 bits", "2262-04-11T23:47:16.854775807", "leave"):
            tr.execute(program, workers=1)
    else:
        late = tr.execute(program, workers=1)[0]
        assert late == [[at]] * len(late)


@pytest.mark.parametrize("name", OPERATORS)
def test_rows_of_the_23rd_century_are_right(name: str) -> None:
    """Their times are behind those that messages may have, and not behind the end of 64 bits."""
    at = 2**63 - 1 - 7 * 24 * 3600 * SECOND
    with bench([SCHEMAS[0]], OPERATORS[name]) as made:
        made.send({"k": [1, 1], "at": [3 * SECOND, at]})
        made.close()
        ends = [end for row in made.rows for end in row[1:] if end >= at]
    assert ends


@pytest.mark.parametrize(
    "window", [Tumbling("at", "10s"), Tumbling("at", "1h", zone="UTC"), Sliding("at", "10s", "5s")], ids=str
)
def test_lateness_may_lead_behind_it(window: Any) -> None:
    def declare(stream: Stream) -> Any:
        return aggregate(stream, "k", window=window, lateness="3h", n=tr.Count())

    with bench([SCHEMAS[0]], declare) as made:
        made.send({"k": [1], "at": [2**63 - 1 - 2 * 3600 * SECOND]})
        with raises(OperatorError, "'at'", "2262-04-11T21:47:16.854775807", "with their lateness", "leave"):
            made.close()


@pytest.mark.parametrize("ahead", [0, 9])
@pytest.mark.parametrize("what", ["session", "matches"])
def test_what_ends_behind_it_is_refused(what: str, ahead: int) -> None:
    """A row of a time that there is, since 64 bits have it."""

    def declare(stream: Stream) -> Any:
        if what == "session":
            return aggregate(stream, "k", window=Session("at", "10ns"), n=tr.Count())
        return tr.interval_join(
            stream, stream, on="k", columns={"a": "left.at", "b": "right.at"}, left_time="at", right_time="at",
            lower="-10ns", upper="10ns",
        )  # fmt: skip

    with bench([SCHEMAS[0]], declare) as made:
        made.send({"k": [1, 1], "at": [5, 2**63 - 1 - ahead]})
        shown = f"2262-04-11T23:47:16.{854775807 - ahead}"
        with raises(OperatorError, "'at'", shown, what, "would end behind"):
            made.close()


@pytest.mark.parametrize("late", [False, True])
def test_a_source_that_goes_by_them_says_which_row_it_is(late: bool, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("at\n1970-01-01 00:00:01\n1969-12-31 23:59:59\n")

    def pipeline(scope: tr.Scope) -> Any:
        made: Any = scope.read_csv(tmp_path / "a.csv", tr.Schema(at="timestamp"), time="at", disorder="1h", late=late)
        return (made[0] if late else made).collect()

    with raises(
        OperatorError, "a.csv", "line 3", "column 'at'", "1969-12-31T23:59:59.000000000", "1970", "leave such rows out"
    ):
        tr.run(pipeline, workers=1)
    latest = pa.table({"at": pa.array([3, 2**62], pa.timestamp("ns"))})
    facts = "row 1", "column 'at'", "2116-02-20T23:53:38.427387904", "2116-02-20T23:53:38.427387903", "leave such rows"
    with raises(OperatorError, facts):
        tr.run(lambda scope: scope.read_arrow(latest, time="at").collect(), workers=1)
    with raises(OperatorError, "row 1", "column 'n'", "-7", "begin with 0", "leave such rows out"):
        tr.run(lambda scope: scope.read_arrow(pa.table({"n": [3, -7]}), time="n").collect(), workers=1)


@pytest.mark.parametrize("window", [Tumbling("at", "10s"), Sliding("at", "10s", "5s"), Session("at", "10s")], ids=str)
def test_with_as_much_lateness_their_windows_are_right(window: Any) -> None:
    ats = [-25, -12, -1, 3, 12, -11]

    def declare(stream: Stream) -> Any:
        return aggregate(stream, "k", window=window, lateness="1min", n=tr.Count())

    with bench([SCHEMAS[0]], declare) as made:
        for at in ats:
            made.send({"k": [1], "at": [at * SECOND]})
            made.settle()
        made.close()
        found = sorted((start // SECOND, end // SECOND, n) for _, _, start, end, _, n in made.rows)
    if isinstance(window, Session):
        assert found == [(-25, -15, 1), (-12, -1, 2), (-1, 22, 3)]
        return
    every = 5 if isinstance(window, Sliding) else 10
    spans = [(start, start + 10) for start in range(-40, 20, every)]
    expected = [(start, end, sum(start <= at < end for at in ats)) for start, end in spans]
    assert found == [row for row in expected if row[2]]
