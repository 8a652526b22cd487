"""Numbers as the values of options."""

from __future__ import annotations

import pytest

from tests.nexmark.helpers import tokenring


@pytest.mark.parametrize(
    "line",
    [
        "health 1 --within",
        "hold 1 --operator a --timeout",
        "migrate 1 --timeout",
        "query 1 rows --timeout",
        "snapshot 1 --timeout",
        "views 1 --timeout",
        "why 1 --timeout",
    ],
)
def test_nan_is_in_no_range(capsys: pytest.CaptureFixture[str], line: str) -> None:
    outcome = tokenring(capsys, *line.split(), "nan")
    assert (outcome.status, "nan is no number" in outcome.err) == (2, True), outcome
