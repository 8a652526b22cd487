"""Random programs of streams and collections beside plain Python; one that fails is made smaller."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from scripts.storms.setting import Setting
from tests.random_programs import complaint, drawn


def cases_of(kind: str) -> Callable[[Setting, Random], tuple[str, str]]:
    """kind: one of tests.random_programs.KINDS. A case is one program: what it is, and what is wrong."""

    def case(_: Setting, random: Random) -> tuple[str, str]:
        trial = drawn(kind, random.random())
        told = f"{', '.join([step.does for step in trial.steps])}; {trial.workers} workers in one process"
        return told, complaint(trial)

    return case
