"""A short form of `scripts/storm`: a few cases of each kind must hold."""

from __future__ import annotations

import pytest

from scripts.storms.__main__ import storm


@pytest.mark.parametrize(("kind", "cases"), [("files", 8), ("options", 10), ("kills", 2)])
def test_a_few_cases_hold(kind: str, cases: int) -> None:
    assert storm([kind], seed=0, cases=cases) == []
