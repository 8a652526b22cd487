"""Every query answers what DuckDB answers: closed and open loop, several numbers of workers, events in any order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.nexmark.answers import ANSWERS, write_answer
from tests.nexmark.foreign_events import seal_edges, seal_foreign
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.oracle.compare import differences
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run import runner
from tokenring.nexmark.run.on_behalf import executed
from tokenring.nexmark.run.runner import Plan

pytestmark = pytest.mark.usefixtures("answers_alone_count")

EVENTS = 40_003
NAMES = tuple(QUERIES)


def _with(workers: tuple[int, ...]) -> list[tuple[str, int]]:
    """The queries with numbers of workers in turn."""
    return list(zip(NAMES, itertools.cycle(workers), strict=False))


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some windows, thousands of auctions that close."""
    return seal_generated(tmp_path_factory.mktemp("queries") / "events", GeneratorConfig(EVENTS, rate=1_000, seed=3))


@pytest.fixture(scope="module")
def disordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = GeneratorConfig(EVENTS // 2, rate=500, seed=4, out_of_order_group_size=100)
    return seal_generated(tmp_path_factory.mktemp("queries") / "disordered", config)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_foreign(tmp_path_factory.mktemp("queries") / "foreign")


@pytest.fixture(scope="module")
def edges_by_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_edges(tmp_path_factory.mktemp("queries") / "edges", by_time=True)


@pytest.fixture(scope="module")
def edges_in_any_order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_edges(tmp_path_factory.mktemp("queries") / "edges", by_time=False)


def _check(tmp_path: Path, folder: Path, query: str, may_be_empty: bool = False, **plan: Any) -> None:
    answer = tmp_path / "answer.parquet"
    write_answer(query, folder, answer)
    assert may_be_empty or pq.read_metadata(answer).num_rows > 0, "a test with an empty answer proves little"
    with executed(Plan(query, str(folder), **plan), keep=True) as (outcome, rows):
        assert not outcome["dnf"]
        assert outcome["events"] == outcome["planned_events"]
        assert outcome["result_rows"] == rows.num_rows
        assert differences(QUERIES[query].checked_as(rows), answer, QUERIES[query].key) == []


def test_every_query_has_an_answer_to_compare_with() -> None:
    assert ANSWERS.keys() == QUERIES.keys()


# Each query meets two numbers of workers; together they meet all of one to four.
@pytest.mark.parametrize(("query", "workers"), _with((1, 2, 3, 4)))
def test_closed_loop(tmp_path: Path, staged: Path, query: str, workers: int) -> None:
    _check(tmp_path, staged, query, workers=workers, block=1_000)


@pytest.mark.parametrize(("query", "workers"), _with((3, 4, 1, 2)))
def test_open_loop_of_events_out_of_order(tmp_path: Path, disordered: Path, query: str, workers: int) -> None:
    _check(tmp_path, disordered, query, workers=workers, rate=400_000)


@pytest.mark.parametrize(("query", "workers"), _with((2, 3)))
def test_events_from_elsewhere(tmp_path: Path, foreign: Path, query: str, workers: int) -> None:
    _check(tmp_path, foreign, query, workers=workers, block=200)


# In the order of their times, and in any other, where nothing closes before the end; each with numbers of workers of
# its own, and in the long form with those of the other as well.
@pytest.mark.parametrize(
    ("edges", "query", "workers"),
    [
        *[("edges_by_time", *one) for one in _with((1, 2))],
        *[("edges_in_any_order", *one) for one in _with((2, 3))],
        *[pytest.param("edges_by_time", *one, marks=pytest.mark.slow) for one in _with((2, 3))],
        *[pytest.param("edges_in_any_order", *one, marks=pytest.mark.slow) for one in _with((1, 2))],
    ],
)
def test_events_at_the_edges(
    tmp_path: Path, request: pytest.FixtureRequest, edges: str, query: str, workers: int
) -> None:
    _check(tmp_path, request.getfixturevalue(edges), query, workers=workers, block=40)


@pytest.mark.parametrize("query", ["q10", "q14", "q16", "q18", "q20", "q21", "q22"])
def test_bids_without_text_have_nulls(tmp_path: Path, query: str) -> None:
    folder = seal_foreign(tmp_path / "events", texts=())
    _check(tmp_path, folder, query, workers=1, may_be_empty=query == "q21")


@pytest.mark.parametrize("query", ["q0", "q5", "q17"])
def test_rows_are_counted_where_nobody_asks_for_them(staged: Path, query: str) -> None:
    outcome = runner.run_query(Plan(query, str(staged), workers=2, events=10_000))
    chosen = QUERIES[query]
    assert (outcome["result"] is None) == (not chosen.is_small)
    assert (outcome["result_rows"] is None) == (bool(chosen.key) and not chosen.is_small)
