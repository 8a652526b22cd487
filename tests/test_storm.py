"""A short form of `scripts/storm`: a few cases of each kind must hold."""

from __future__ import annotations

import pytest

from scripts.storms.__main__ import storm


@pytest.mark.parametrize(("kind", "cases"), [("files", 8), ("options", 10), ("kills", 2)])
def test_a_few_cases_hold(kind: str, cases: int) -> None:
    assert storm([kind], seed=0, cases=cases) == []


def test_a_row_group_that_lost_its_rows_is_damaged() -> None:
    """A flipped byte in a page's header, which no checksum covers: a third of the rows once went without a word."""
    assert storm(["files"], seed=197, cases=1) == []
