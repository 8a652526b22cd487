"""`benchmark scale` in a tiny form: whole figures, and limits that follow from them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from scripts.benchmarks.__main__ import main
from scripts.benchmarks.measure import render
from scripts.benchmarks.scale import events_text, limits
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_figures_are_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = seal_generated(tmp_path / "events", GeneratorConfig(5_000, rate=500, seed=3))
    file = tmp_path / "scale.json"
    options = ["--events", "5000", "1000", "--query", "q7", "q2"]
    assert main(["scale", "--input", str(folder), *options, "--json", str(file)]) == 0
    data = orjson.loads(file.read_bytes())
    assert [(row["query"], row["events"]) for row in data["rows"]] == [
        ("q7", 1000), ("q7", 5000), ("q2", 1000), ("q2", 5000),
    ]  # fmt: skip
    for row in data["rows"]:
        for system in ("tokenring", "spark"):
            assert 0 < row[f"{system}_seconds"] < row[f"{system}_wall_seconds"]
            assert row[f"{system}_mb"] > 1
    # Of 50 events 46 are bids, of which Q7 reads date_time, price and their place.
    assert data["rows"][0]["read_bytes_per_event"] == pytest.approx(24 * 46 / 50)
    assert render(data) in capsys.readouterr().out


def test_limits_follow_from_growth() -> None:
    rows = [
        {"query": "q20", "events": events, "tokenring_mb": mb, "read_bytes_per_event": 60.0}
        for events, mb in ((10**6, 100.0), (10**7, 460.0))
    ]
    (limit,) = limits(rows, memory_mb=16_000)
    assert limit["state_bytes_per_event"] == pytest.approx(40)
    assert limit["events_of_state"] == pytest.approx(4e8)
    assert limit["events_of_both"] == pytest.approx(1.6e8)
    flat = limits([rows[0], rows[1] | {"tokenring_mb": 100.0}], memory_mb=16_000)[0]
    assert (flat["events_of_state"], events_text(flat["events_of_state"])) == (None, "any number")
    assert events_text(4.123e8) == "410 M"


def test_more_events_than_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = seal_generated(tmp_path / "events", GeneratorConfig(100, rate=500, seed=3))
    assert main(["scale", "--input", str(folder), "--events", "101", "--json", str(tmp_path / "out.json")]) == 2
    assert "stage more" in capsys.readouterr().err
