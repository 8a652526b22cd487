"""Answers while bins move at random times to random workers are those without moves, whoever steps when."""

from __future__ import annotations

import pytest

from tests.operators.migrate.random_moves import PROGRAMS, Trial, wrong_of

CASES = 2
"""Of each program here; `./scripts/storm migration` has as many as one likes."""


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_answers_are_those_without_moves(name: str) -> None:
    for seed in range(CASES):
        assert not wrong_of(Trial(name, seed), seed)
