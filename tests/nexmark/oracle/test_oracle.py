"""The oracle: right on an example worked by hand and where DuckDB says the same, and what it keeps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.errors import raises
from tests.nexmark.answers import ANSWERS, write_answer
from tests.nexmark.foreign_events import seal_edges, seal_foreign
from tests.nexmark.helpers import SECOND_NS, auction, bid, seal, table
from tests.nexmark.resident_spark import ResidentSpark
from tokenring.nexmark.errors import SparkError
from tokenring.nexmark.oracle import oracle as oracle_module
from tokenring.nexmark.oracle.compare import differences
from tokenring.nexmark.oracle.oracle import CACHE, answers
from tokenring.nexmark.sql import QUERIES, sql
from tokenring.tools.errors import InputError

LIMIT = 4_003


def rows_of(answer: Path | SparkError, key: str) -> list[dict[str, Any]]:
    assert isinstance(answer, Path), answer
    rows: list[dict[str, Any]] = pq.read_table(answer).to_pylist()
    return sorted(rows, key=lambda row: row[key])


@pytest.fixture(scope="module", params=[seal_foreign, partial(seal_edges, by_time=False)], ids=["foreign", "edges"])
def foreign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events as no generator makes them, in a folder that Spark would take for several."""
    sealed: Path = request.param(tmp_path_factory.mktemp("oracle") / "events, foreign")
    return sealed


@pytest.fixture(scope="module")
def answered(foreign: Path, resident_spark: ResidentSpark) -> Mapping[str, Path | SparkError]:
    """All that DuckDB has an answer to, in one session."""
    with resident_spark.at_hand():
        return answers(tuple(ANSWERS), foreign, LIMIT, master="local[2]")


@pytest.mark.spark
@pytest.mark.parametrize("query", ANSWERS)
def test_duckdb_says_the_same(
    foreign: Path, answered: Mapping[str, Path | SparkError], tmp_path: Path, query: str
) -> None:
    answer = answered[query]
    assert isinstance(answer, Path), answer
    write_answer(query, foreign, tmp_path / "answer.parquet", LIMIT)
    fields = [
        (field.name, {"string": pa.large_string()}.get(str(field.type), field.type))
        for field in pq.read_schema(next(answer.glob("*.parquet")))
    ]
    told = pq.read_table(tmp_path / "answer.parquet").select([name for name, _ in fields]).cast(pa.schema(fields))
    assert told.num_rows > 0, "a test with an empty answer proves little"
    assert differences(told, answer) == []


HUGE = 2**63 - 1


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    auctions = [
        auction(event=0, id=1, reserve=200, date_time=1_000, expires=9_000, category=10),
        auction(event=1, id=-5, reserve=0, date_time=1_000, expires=9_000, category=10),
        auction(event=2, id=3, reserve=0, date_time=5_000, expires=5_000, category=11),  # never open
        auction(event=3, id=4, reserve=0, date_time=0, expires=2 * 10 * SECOND_NS, category=-12),
        auction(event=4, id=5, reserve=0, date_time=0, expires=2 * 10 * SECOND_NS, category=-12),
        auction(event=5, id=6, reserve=-10, date_time=0, expires=9_000, category=13),
    ]
    bids = [
        bid(event=6, auction=1, price=199, date_time=2_000),  # below the reserve
        bid(event=7, auction=1, price=200, date_time=1_000),  # at the reserve, at the start: the first winner
        bid(event=8, auction=1, price=900, date_time=999),  # before the start
        bid(event=9, auction=1, price=900, date_time=9_000),  # at the expiry
        bid(event=10, auction=1, price=301, date_time=8_999),  # the winner of auction 1
        bid(event=11, auction=-5, price=100, date_time=2_000),  # (301 + 100) // 2 = 200
        bid(event=12, auction=3, price=100, date_time=5_000),
        bid(event=13, auction=99, price=100, date_time=5_000),  # of no auction
        bid(event=14, auction=6, price=-3, date_time=5_000),
        bid(event=15, auction=4, price=HUGE, date_time=10 * SECOND_NS - 1),
        bid(event=16, auction=5, price=HUGE, date_time=10 * SECOND_NS),  # the sum passes 64 bits
        bid(event=17, auction=5, price=1, date_time=35 * SECOND_NS),
    ]
    tables = {"person": table("person", [], event=True), "auction": table("auction", auctions, event=True)}
    return seal(tmp_path / "by-hand", tables | {"bid": table("bid", bids, event=True)})


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_an_example_worked_by_hand(by_hand: Path) -> None:
    answer = answers(("q4", "q7", "q1"), by_hand, master="local[1]")
    assert rows_of(answer["q4"], "category") == [
        {"category": -12, "average": HUGE, "count": 2},
        {"category": 10, "average": 200, "count": 2},
        {"category": 13, "average": -3, "count": 1},
    ]
    assert rows_of(answer["q7"], "window_end") == [
        {"window_end": 10 * SECOND_NS, "price": HUGE},
        {"window_end": 20 * SECOND_NS, "price": HUGE},
        {"window_end": 40 * SECOND_NS, "price": 1},
    ]
    prices = [row["price"] for row in rows_of(answer["q1"], "price")]
    assert (prices[0], prices[-1]) == (-3, HUGE * 89 // 100), "-2.67 is rounded down; a product passes 64 bits"


# ---- the kept answer


def test_a_kept_answer_is_used_only_for_the_same_events(by_hand: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def answer(_module: str, arguments: dict[str, Any], _scratch: Path) -> dict[str, str | None]:
        asked.append(arguments["queries"])
        for query in arguments["queries"]:
            (Path(arguments["out"]) / query).mkdir()
        return {query: "no memory" if query == "q5" else None for query in arguments["queries"]}

    monkeypatch.setattr(oracle_module, "run_spark_job", answer)
    first = answers(("q4", "q5", "q7"), by_hand)
    assert "Spark cannot answer q5: no memory" in str(first["q5"])
    assert answers(("q4", "q7"), by_hand, 10**6) == {query: first[query] for query in ("q4", "q7")}
    assert asked == [["q4", "q5", "q7"]], "what was answered is not asked again"
    answers(("q4", "q5"), by_hand)
    assert asked[1:] == [["q5"]], "what failed is"
    other = answers(("q4",), by_hand, 17)
    monkeypatch.setattr(oracle_module, "sql", lambda query: f"another text of {query}")
    another = answers(("q4",), by_hand)
    assert asked[2:] == [["q4"], ["q4"]], "another prefix, and another text"
    assert len({first["q4"], other["q4"], another["q4"]}) == 3
    assert len(os.listdir(by_hand / CACHE)) == 4, "and nothing half done"


def test_where_nothing_can_be_kept_beside_the_events(
    by_hand: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_module: str, arguments: dict[str, Any], _scratch: Path) -> dict[str, str | None]:
        (Path(arguments["out"]) / "q4").mkdir()
        return {"q4": None}

    (by_hand / CACHE).write_text("in the way")
    monkeypatch.setattr(oracle_module, "run_spark_job", answer)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told = answers(("q4",), by_hand)["q4"]
    assert isinstance(told, Path)
    assert told.is_dir()
    assert told.is_relative_to(tmp_path / "cache")


def test_an_unknown_query_and_a_negative_limit(by_hand: Path) -> None:
    with raises(InputError, "'q23'", "q0", "q4, q5", "q22"):
        answers(("q4", "q23"), by_hand)
    with raises(InputError, "events is -1"):
        answers(("q4",), by_hand, -1)


def test_every_query_has_its_sql() -> None:
    assert [query for query in QUERIES if "SELECT" not in sql(query)] == []
    assert len(QUERIES) == 23
