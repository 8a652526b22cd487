"""`tokenring bench ... --memory`: each point's group has the budget, and nothing else has it afterwards."""

import os

import orjson
import pytest

from tests.nexmark.helpers import tokenring


def test_a_budget_is_that_of_every_point(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENRING_MEMORY", "64G")
    asked = "--operators 10 20 --mechanism tokens --workers 1 --duration 0.1 --memory 10M --json -"
    outcome = tokenring(capsys, "bench", "chain", *asked.split())
    assert outcome.status == 1
    errors = [row["error"] for row in orjson.loads(outcome.out)["rows"]]
    assert ["a budget of 10.0 MiB cannot" in error for error in errors] == [True, True]
    assert os.environ["TOKENRING_MEMORY"] == "64G"
