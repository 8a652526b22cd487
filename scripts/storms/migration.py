"""Random rows and random moves of bins through each operator with a key, beside the same without moves."""

from __future__ import annotations

from random import Random

from scripts.storms.setting import Setting
from tests.operators.migrate.random_moves import PROGRAMS, Trial, wrong_of


def case(_: Setting, random: Random) -> tuple[str, str]:
    """One program, its rows and moves: what it is, and what is wrong."""
    trial = Trial(random.choice(list(PROGRAMS)), random.random())
    told = f"{trial.name}, {trial.workers} workers in one process, {trial.bins} bins, {len(trial.changes)} moves"
    try:
        return told, wrong_of(trial, random.random())
    except Exception as error:
        return told, f"{type(error).__name__}: {error}"
