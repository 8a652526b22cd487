"""Random programs come to what plain Python does: a few of the many that `scripts/storm` plays; each step in some."""

from __future__ import annotations

from random import SystemRandom

import pytest

from tests.long_form import LONG, examples
from tests.random_programs import KINDS, STEPS, complaint, drawn

CASES = {"streams": 48, "collections": 72, "migration": 12}
assert CASES.keys() == set(KINDS)


def seeds(count: int) -> list[str]:
    """Always the same ones; in the long form new ones, which are printed."""
    begin = f"{SystemRandom().randrange(10**12)}." if LONG else ""
    made = [f"{begin}{number}" for number in range(examples(count))]
    print("seeds", made[0], "to", made[-1])
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_programs_come_to_what_plain_python_does(kind: str) -> None:
    for seed in seeds(CASES[kind]):
        assert not complaint(drawn(kind, seed))


@pytest.mark.parametrize("form", [None, "only Python"])
@pytest.mark.parametrize("does", STEPS)
def test_each_step_does(does: str, form: str | None) -> None:
    for seed in seeds(3)[: None if LONG else 1]:
        trial = drawn("migration", seed, does, form)
        assert does in [step.does for step in trial.steps]
        assert not complaint(trial)


@pytest.mark.parametrize("kind", KINDS)
def test_workers_that_are_processes_do(kind: str) -> None:
    for seed in seeds(6):
        assert not complaint(drawn(kind, seed), in_processes=True)
