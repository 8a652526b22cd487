"""`tokenring stage --edges`, and `run all --verify` over what it stages."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.nexmark.helpers import tokenring
from tokenring.nexmark.events.edge_events import edge_tables
from tokenring.nexmark.events.schema import STREAMS
from tokenring.nexmark.manifest import read_manifest

SOME = ("q1", "q9", "q12", "q17")


def test_a_seed_gives_the_same_events() -> None:
    first, again, other = edge_tables(3), edge_tables(3), edge_tables(4)
    for name in STREAMS:
        assert first[name].equals(again[name])
        assert not first[name].equals(other[name])
        assert first[name].column_names == [column.name for column in STREAMS[name].columns]


@pytest.mark.parametrize("option", ["--events 5", "--rate 5", "--from .", "--time-unit ms", "--seed 2 --set x=1"])
def test_other_events_do_not_go_with_it(capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str) -> None:
    told = tokenring(capsys, "stage", "--edges", "--out", tmp_path / "events", *option.split())
    assert told.status == 2
    assert told.err.startswith("tokenring: error: --edges makes its own events")
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.usefixtures("spark", "answers_alone_count")
def test_what_is_staged_is_verified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some queries stand for all, which test_queries.py and test_oracle.py hold against DuckDB over these events."""
    monkeypatch.setattr("tokenring.nexmark.commands.run.QUERIES", SOME)
    folder = tmp_path / "edges"
    assert tokenring(capsys, "stage", "--edges", "--seed", "2", "--out", folder).status == 0
    manifest = read_manifest(folder)
    rows = {name: manifest["streams"][name]["rows"] for name in STREAMS}
    assert rows == {name: table.num_rows for name, table in edge_tables(2).items()}
    assert manifest["source"]["path"] == "--edges --seed 2"
    asked = ("run", "all", "--input", folder, "--workers", "2", "--batch", "50", "--rate", "100000", "--verify")
    told = tokenring(capsys, *asked, "--json", "-")
    assert (told.status, told.err) == (0, "")
    verified = {row["query"]: row["verified"] for row in orjson.loads(told.out)["rows"]}
    assert verified == dict.fromkeys(SOME, True)
