"""The engines beside ours: their answers are one another's, and a wrong one stops the benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from scripts.benchmarks.references import Case, Reference, fingerprint, require_equal
from tests.errors import raises
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.queries import QUERIES
from tokenring.tools.errors import CommandError

EVENTS = 30_000


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Reference, Reference]]:
    folder: Path = seal_generated(
        tmp_path_factory.mktemp("references") / "events", GeneratorConfig(events=EVENTS, rate=500, seed=11)
    )
    asked = folder, EVENTS, tuple(QUERIES)
    with Reference("duckdb", *asked) as duckdb, Reference("polars", *asked, 2) as polars:
        yield duckdb, polars


@pytest.mark.parametrize("query", QUERIES)
def test_both_answer_alike(references: tuple[Reference, Reference], query: str) -> None:
    first, second = [reference.fingerprint(query, 2) for reference in references]
    assert first == second
    assert first[0] > 0, "there are rows to compare"


def test_a_fingerprint_knows_rows_and_how_often(references: tuple[Reference, Reference]) -> None:
    query = QUERIES["q2"]
    rows = pa.RecordBatch.from_pydict({"auction": [1, 2, 2], "price": [5, 6, 6]})
    found = fingerprint(query, [rows])
    assert found == fingerprint(query, [rows.slice(1), rows.slice(0, 1)]), "in any order"
    assert found != fingerprint(query, [rows.slice(0, 2), rows.slice(0, 1)])
    assert found[0] == 3
    wider = rows.select(["price", "auction"]).cast(pa.schema({"price": pa.float64(), "auction": pa.int32()}))
    assert found == fingerprint(query, [wider]), "columns in any order, of any types"
    nothing = pa.RecordBatch.from_pydict({"auction": [1, 2, None], "price": [5, 6, 6]})
    with raises(ValueError, "auction"):
        fingerprint(query, [nothing])
    with raises(CommandError, "q2", "auction, cost for auction, price"):
        fingerprint(query, [rows.rename_columns(["auction", "cost"])])


def test_a_wrong_answer_is_told() -> None:
    answers = [(Case("tokenring", "q2", 2), [3, 1, 2]), (Case("duckdb", "q2", 2), [3, 1, 3])]
    with raises(CommandError, "duckdb", "2 worker(s)", "q2", "3 rows", "tokenring with 3"):
        require_equal(iter(answers))
