"""Answers of groups whose workers end, each let go at instants of its own, are those of groups that stay whole."""

from __future__ import annotations

import pytest

from tests.operators.leaving.endings import ended_while
from tests.random_programs import STEPS
from tokenring.engine.worker.config import EXHAUSTIVE, NORMAL

FEW = ("exchange", "final all", "tumbling words", "session all", "top final", "distinct")


def ended(does: str, seed: int, checks: str = NORMAL) -> int | None:
    """How many workers ended in a trial, whose answers are right; None if none may."""
    found, expected, ended = ended_while(does, seed, checks)
    assert found == expected, (does, seed)
    return ended


@pytest.mark.parametrize("does", FEW)
def test_answers_are_those_without_ends(does: str) -> None:
    assert sum([ended(does, seed) or 0 for seed in range(8)]) > 0


def test_the_same_under_every_check() -> None:
    assert ended("exchange", 1, EXHAUSTIVE)


@pytest.mark.slow
@pytest.mark.parametrize("does", STEPS)
def test_answers_of_every_step(does: str) -> None:
    each = [ended(does, seed) for seed in range(40)]
    assert None in each or any(each)
