"""The benchmark of what staging proved: each way leaves out what it says and no more, and all answers are equal."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from unittest.mock import Mock

import orjson
import pytest

from scripts.benchmarks import worth
from scripts.benchmarks.__main__ import main
from scripts.benchmarks.references import Case
from scripts.benchmarks.references.processes import Files
from tests.nexmark.helpers import seal_generated
from tokenring import SECOND
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.operators.staging import StagedTable

pytestmark = pytest.mark.usefixtures("no_memory_made_ready")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 20 s, the tenth of which one program asks for."""
    config = GeneratorConfig(events=20_000, rate=1_000, seed=3)
    return seal_generated(tmp_path_factory.mktemp("worth") / "events", config)


@pytest.mark.parametrize(
    ("way", "time", "unique", "shares"),
    [
        (worth.WHOLE, "date_time", ("id",), True),
        (worth.NO_KEYS, "date_time", (), True),
        (worth.OTHER_ORDER, "event", ("id",), True),
        (worth.ALONE, "date_time", ("id",), False),
    ],
)
def test_a_way_to_stage_leaves_out_one_fact(
    events: Path, tmp_path: Path, way: str, time: str, unique: tuple[str, ...], shares: bool
) -> None:
    made = [worth.stage(Files(events), tmp_path, way, stream) for stream in ("bid", "auction")]
    bids, auctions = (StagedTable(next(tmp_path.iterdir()), stream) for stream in ("bid", "auction"))
    assert (bids.time, auctions.time, bids.unique, auctions.unique) == (time, time, (), unique)
    assert (bids.manifest["columns"]["channel"]["distinct"] is not None) == shares
    assert [(row["rows"], row["table"]) for row in made] == [(bids.rows, "bid"), (auctions.rows, "auction")]
    assert made[1]["mb"] == pytest.approx(sum(file.stat().st_size for file in auctions.folder.glob("columns/*")) / 1e6)


@pytest.mark.parametrize(
    ("way", "source", "asked"),
    [
        (worth.WHOLE, "read_staged", {"time": "date_time"}),
        (worth.NO_KEYS, "read_staged", {"time": "date_time"}),
        (worth.OTHER_ORDER, "read_staged", {"time": "event"}),
        (worth.ONE_TIME, "read_staged", {"time": 0}),
        (worth.DISORDER, "read_columns", {"time": "date_time", "disorder": SECOND}),
        (worth.FILES, "read_parquet", {"time": "date_time"}),
    ],
)
def test_a_way_to_read_leaves_out_one_fact(
    events: Path, tmp_path: Path, way: str, source: str, asked: dict[str, object]
) -> None:
    for staged_as in worth.STAGED:
        worth.stage(Files(events), tmp_path, staged_as, "person")
    scope = Mock()
    worth.Tables(scope, Files(events), tmp_path, way).people("id date_time", time="date_time")
    ((called, places, said),) = scope.method_calls
    assert (called, {name: value for name, value in said.items() if name != "columns"}) == (source, asked)
    if source == "read_staged":
        assert StagedTable(*places).unique == (() if way == worth.NO_KEYS else ("id",))


@pytest.mark.parametrize("name", worth.PROGRAMS)
def test_a_program_has_an_answer(events: Path, tmp_path: Path, name: str) -> None:
    for stream in worth.COLUMNS:
        worth.stage(Files(events), tmp_path, worth.WHOLE, stream)
    tables_of = partial(worth.Tables, files=Files(events), staged=tmp_path)
    rows, *_ = worth.answer_of(Case(worth.WHOLE, name, 1), tables_of)
    assert rows > 0


def test_what_is_left_out_stands_beside_the_whole(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "worth.json"
    assert main(["worth", "--input", str(events), "--workers", "2", "--rounds", "1", "--json", str(file)]) == 0
    data = orjson.loads(file.read_bytes())
    assert data["verified"] is True
    assert [(row["program"], row["way"]) for row in data["rows"]] == [
        (name, way)
        for name, program in worth.PROGRAMS.items()
        for way in (worth.WHOLE, *program.without, worth.FILES)
    ]  # fmt: skip
    assert all(row["memory_mb"] > 10 and row["seconds"]["median"] > 0 for row in data["rows"])
    assert {(row["table"], row["way"]) for row in data["staging"]} == {
        (stream, way) for stream in worth.COLUMNS for way in worth.STAGED
    }
    assert f"| bids of each channel | 2 | {worth.ALONE} |" in capsys.readouterr().out


def test_ratios_are_to_the_whole_round_by_round() -> None:
    whole, files = (Case(way, "channel", 1) for way in (worth.WHOLE, worth.FILES))
    rows = worth.summarise({whole: [1.0, 2.0, 4.0], files: [3.0, 4.0, 4.0]}, {whole: 50.0, files: 60.0})
    assert [row["over_whole"]["median"] for row in rows] == [1, 2]
    assert rows[1]["over_whole"] == {"median": 2, "least": 1, "greatest": 3}
    assert [row["memory_mb"] for row in rows] == [50, 60]
