"""Random programs of collections, some of the many that `scripts/storm collections` plays."""

import pytest

from tests.operators.collections.random_programs import Trial, wrong_of


@pytest.mark.parametrize("seed", [f"short {number}" for number in range(24)])
def test_workers_that_step_in_any_order_come_to_what_recomputation_does(seed: str) -> None:
    trial = Trial(seed)
    assert not wrong_of(trial, trial.simulated())


@pytest.mark.parametrize("seed", [f"processes {number}" for number in range(4)])
def test_workers_that_are_processes_do(seed: str) -> None:
    trial = Trial(seed)
    assert not wrong_of(trial, trial.in_processes())


@pytest.mark.parametrize("seed", [f"large {number}" for number in range(4)])
def test_thousands_of_rows_do(seed: str) -> None:
    trial = Trial(seed, is_large=True)
    assert not wrong_of(trial, trial.simulated())
