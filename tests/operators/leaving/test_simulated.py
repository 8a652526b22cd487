"""Answers of groups whose workers end, each let go at instants of its own, are those of groups that stay whole."""

from __future__ import annotations

import pytest

from tests.operators.leaving.endings import EndingTrial
from tests.operators.migrate.random_moves import PROGRAMS
from tokenring.engine.worker.config import EXHAUSTIVE, NORMAL

FEW = ("exchange", "running all", "tumbling", "session", "top", "distinct")


def ended(name: str, seed: int, checks: str = NORMAL) -> int:
    """How many workers ended in a trial, whose answers are right."""
    trial = EndingTrial(name, seed)
    found, ended = trial.ended(seed, checks)
    assert found == trial.rows(moves=False, order="as it may"), (name, seed)
    return ended


@pytest.mark.parametrize("name", FEW)
def test_answers_are_those_without_ends(name: str) -> None:
    assert sum([ended(name, seed) for seed in range(4)]) > 0


def test_the_same_under_every_check() -> None:
    assert ended("exchange", 1, EXHAUSTIVE) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_answers_of_every_program(name: str) -> None:
    assert sum([ended(name, seed) for seed in range(40)]) > 0
