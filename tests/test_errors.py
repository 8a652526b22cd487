"""The checks of errors notice a fact that is missing, and one that another fact only begins with."""

from __future__ import annotations

import pytest

from tests.errors import Fact, raises

WORDS = "operator 'join' on worker 1: row 30 of a.csv has price -4.5, and 1,024 or 2..7 are allowed; make it int64?"


@pytest.mark.parametrize(
    "fact",
    [
        *("operator 'join'", "worker 1", "row 30", "30", "-4.5", "1,024", "2", "7", "int64", "int64?", "a.csv"),
        *(("worker 1", "row 30"), {"worker 0", "worker 1"}, ("'join'", {"worker 0", "worker 1"})),
    ],
)
def test_a_fact_that_is_named(fact: Fact) -> None:
    with raises(ValueError, fact, "row 30"):
        raise ValueError(WORDS)


@pytest.mark.parametrize(
    "fact",
    [
        *("operator 'Join'", "worker 0", "row 3", "0", "4.5", "4", "-4", "1", "24", "1,02", "int", "perator"),
        *("row .*", ("worker 1", "row 3"), {"worker 0", "worker 2"}, ("'join'", {"worker 0"})),
    ],
)
def test_a_fact_that_is_not_named(fact: Fact) -> None:
    # "1" alone stands in "worker 1"
    said = WORDS.replace("worker 1", "worker one") if fact == "1" else WORDS
    with pytest.raises(pytest.fail.Exception) as caught, raises(ValueError, "row 30", fact):
        raise ValueError(said)
    assert repr(fact) in str(caught.value)
    assert said in str(caught.value), "the whole error is shown"


def test_an_error_of_another_type_goes_on_and_none_is_a_failure() -> None:
    with pytest.raises(KeyError), raises(ValueError, "row 30"):
        raise KeyError("row 30")
    with pytest.raises(pytest.fail.Exception), raises(ValueError, "row 30"):
        pass


def test_what_a_note_says_is_not_what_the_error_says() -> None:
    error = ValueError("no such column")
    error.add_note("in worker process: raises(ValueError, 'row 30')")
    with pytest.raises(pytest.fail.Exception), raises(ValueError, "row 30"):
        raise error
