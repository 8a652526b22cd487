"""Each operator that can be saved, in programs whose workers die: against plain Python. See tests/random_programs."""

from __future__ import annotations

import pytest

from tests.long_form import LONG, examples
from tests.random_programs import complaint, drawn
from tests.random_programs.rows import OF_NUMBERS
from tests.random_programs.steps import SAVED

TAKES_S = 12
OFTEN = [does for does in SAVED if does.endswith((OF_NUMBERS, " words", " full", " right", " own times"))]
"""What is kept by another one as well: a step that is played in the long form alone."""


@pytest.mark.parametrize(
    "does", [pytest.param(does, marks=[pytest.mark.slow] if does in OFTEN else []) for does in SAVED]
)
def test_each_step_goes_on(does: str) -> None:
    for seed in range(examples(9) if LONG else 1):
        assert not complaint(drawn("recovery", seed, does, most=0 if LONG else 1))
