"""Random programs of collections, loops in loops among them, beside recomputation from scratch at every time."""

from __future__ import annotations

from random import Random

from scripts.storms.setting import Setting
from tests.operators.collections.random_programs import Trial, wrong_of


def case(_: Setting, random: Random) -> tuple[str, str]:
    """One program and its updates: what it is, and what is wrong."""
    trial = Trial(random.random(), is_large=random.random() < 0.1)
    told = f"{len(trial.plan.steps)} steps, {trial.workers} workers in one process, {trial.size.rows} rows"
    try:
        return told, wrong_of(trial, trial.simulated())
    except Exception as error:
        return told, f"{type(error).__name__}: {error}\n{trial.plan.told()}"
