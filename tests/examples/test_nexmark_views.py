"""NEXMark's queries as views, beside DuckDB over the events so far, at every epoch."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from examples.nexmark_views.kept import answer_at, keep
from examples.nexmark_views.queries import QUERIES
from tests.nexmark.answers import write_answers
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.oracle.compare import differences

EVENTS, EPOCH_EVENTS = 12_000, 5_000


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("views") / "events", GeneratorConfig(EVENTS, rate=500, seed=6))


@pytest.fixture(scope="module")
def answers(staged: Path) -> Path:
    """The folder of DuckDB's, a file each query and epoch."""
    for epoch in range(3):
        files = {query: staged.parent / f"{query}-{epoch}.parquet" for query in QUERIES}
        write_answers(files, staged, (epoch + 1) * EPOCH_EVENTS)
    return staged.parent


@pytest.mark.parametrize("query", QUERIES)
def test_every_epoch_has_the_answer_over_its_events(query: str, staged: Path, answers: Path) -> None:
    changes = keep(staged, query, 2, EPOCH_EVENTS)
    for epoch in range(3):
        expected = answers / f"{query}-{epoch}.parquet"
        found = answer_at(changes, epoch)
        assert found.num_rows > 0, "a test with an empty answer proves little"
        extra = {"rank"} if query == "q19" else set()
        assert set(pq.read_schema(expected).names) == {*found.column_names} | extra
        assert differences(pa.table(found), expected) == [], epoch
