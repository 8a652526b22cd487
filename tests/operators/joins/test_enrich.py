"""enrich with a table that is given, of any of the forms it may have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.errors import Fact, raises
from tests.operators.helpers import bench
from tokenring.engine import Batch, Schema, SchemaError, Stream
from tokenring.operators import Count, Session, aggregate, col, enrich, select

ROWS = Schema("n", code="string?", flag="bool")
COLUMNS = {"code": ["a", "bb", None], "id": [1, 2, 3], "text": ["one", None, "three"], "share": [0.5, 1, 2]}
TABLES = {
    "mapping": COLUMNS | {"id": np.array([1, 2, 3], np.int32)},
    "arrow": pa.table(COLUMNS),
    "batch": Batch(Schema.of({"code": "string?", "id": "int64", "text": "string?", "share": "float64"}), COLUMNS),
}


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("form", TABLES)
def test_each_row_with_the_tables(form: str, how: str) -> None:
    def declare(rows: Stream) -> Stream:
        made = enrich(rows, TABLES[form], on="code", how=how)
        assert made.schema.names == ("n", "code", "flag", "id", "text", "share")
        assert str(made.schema.kind("id")) == ("int64?" if how == "left" else "int64")
        return made

    with bench([ROWS], declare, 2, queue_bytes=1 << 16) as made:
        made.send({"n": [1, 2, 3, 4], "code": ["bb", "a", None, "c"], "flag": [True, False, True, True]}, time=3)
        made.send({"n": [5], "code": ["a"], "flag": [False]}, worker=1)
        made.send({"n": [6], "code": ["zz"], "flag": [False]})
        made.settle()
        rows = {row[1]: row[2:] for row in made.sent()}
        expected: dict[int, Any] = {1: ("bb", True, 2, None, 1.0), 2: ("a", False, 1, "one", 0.5)}
        expected[5] = ("a", False, 1, "one", 0.5)
        if how == "left":
            assert [np.isnan(rows.pop(n)[4]) for n in (3, 4, 6)] == [True] * 3
        assert rows == expected
        made.close()


@pytest.mark.parametrize("steps", ["at once", "one by one"])
def test_sessions_ask_and_are_asked_for_at_their_own_ends(steps: str) -> None:
    """However far the frontier goes at once: sessions that it passes together had the first one's time."""

    def declare(rows: Stream, table: Stream) -> Stream:
        sessions = aggregate(rows, "k", window=Session("at", 3), n=Count())
        return enrich(enrich(sessions, table, on="k"), select(sessions, "k", last=col("window_end")), on="k")

    with bench([Schema("at k"), Schema("k v")], declare) as run:
        for time in (1, 7, 20, 24):
            run.send({"at": [time], "k": [2]}, time=time)
            run.send({"k": [2], "v": [time]}, time=time, to=1)
            if steps == "one by one":
                run.settle()
        run.close()
        assert run.sent() == [(end, end - 3, end, 2, 1, v, end) for end, v in ((4, 1), (10, 7), (23, 20), (27, 24))]


def test_a_table_without_rows() -> None:
    table = Batch(Schema("n v"), {"n": [], "v": []})
    with bench([Schema("n")], lambda rows: enrich(rows, table, on="n", how="left")) as made:
        made.send({"n": [4]})
        made.close()
        assert made.sent() == [(0, 4, None)]


@pytest.mark.parametrize(
    ("table", "arguments", "says"),
    [
        ({"n": [1, 2, 1], "v": [1, 2, 3]}, {"on": "n"}, ("operator 'enrich'", "n=1 twice")),
        ({"m": [1], "v": [1]}, {"on": "n"}, ("column 'n' of the right side", "m, v")),
        (
            {"n": ["x"], "v": [1]},
            {"on": "n"},
            ("'n' of the left side is int64", "'n' of the right side is string", "cast"),
        ),
        ({"n": [1], "v": [{}]}, {"on": "n"}, ("operator 'enrich'", "column 'v'", "dict", "Batch")),
        ({"n": [1], "v": [1, 2]}, {"on": "n"}, ("operator 'enrich'", "'v' has 2", "'n' has 1")),
        ([1, 2], {"on": "n"}, ("operator 'enrich'", "a stream, a Batch, an Arrow table", "not list")),
        (
            {"n": [1], "v": [1]},
            {"on": "n", "how": "full"},
            ("operator 'enrich'", "how is 'inner' or 'left'", "not 'full'"),
        ),
    ],
)
def test_mistakes(table: Any, arguments: dict[str, Any], says: Fact) -> None:
    def refused(rows: Stream) -> Stream:
        with raises(SchemaError, says):
            enrich(rows, table, **arguments)
        return rows

    with bench([Schema("n")], refused):
        pass
