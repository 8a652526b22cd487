"""When sources pause, go on, and when it is over: all sequences of looks, without a group."""

from hypothesis import given
from hypothesis import strategies as st

from tokenring.engine.budget import Pressure, Verdict

_BUDGET, _FIXED = 1_000, 200  # there is room for 800: sources pause at 840, and go on below 760


def test_rows_under_way_pause_sources_until_they_are_taken() -> None:
    pressure = Pressure(_BUDGET, _FIXED)
    used = [500, 839, 840, 900, 990, 800, 761, 760, 839, 841]
    verdicts = [pressure.look(bytes_, False, False).name for bytes_ in used]
    assert verdicts == ["GO_ON"] * 2 + ["PAUSE"] * 5 + ["GO_ON"] * 2 + ["PAUSE"]


def test_state_that_waits_for_time_gets_more_room_step_by_step() -> None:
    pressure = Pressure(_BUDGET, _FIXED)
    assert pressure.look(860, False, False) is Verdict.PAUSE
    assert pressure.look(860, True, True) is Verdict.GO_ON, "nothing is under way: what is left is state"
    assert pressure.look(929, False, False) is Verdict.GO_ON, "half of what was left"
    assert pressure.look(931, False, False) is Verdict.PAUSE
    assert pressure.look(894, True, False) is Verdict.GO_ON, "rows were taken"
    assert pressure.look(700, False, False) is Verdict.GO_ON
    assert pressure.look(850, False, False) is Verdict.PAUSE, "as in the beginning"


def test_what_is_beyond_the_budget_ends_the_run_if_it_does_not_fall() -> None:
    for later, verdict in ((1_145, Verdict.OVER), (1_100, Verdict.PAUSE), (900, Verdict.PAUSE), (700, Verdict.GO_ON)):
        pressure = Pressure(_BUDGET, _FIXED)
        assert pressure.look(1_100, False, False) is Verdict.PAUSE
        assert pressure.look(1_150, False, False) is Verdict.PAUSE, "workers have not looked for garbage yet"
        assert pressure.look(later, True, False) is verdict
    pressure = Pressure(_BUDGET, _FIXED)
    assert pressure.look(1_010, False, False) is Verdict.PAUSE
    assert pressure.look(1_000, True, True) is Verdict.OVER, "nothing is under way"
    assert Pressure(_BUDGET, _FIXED).look(1_201, False, False) is Verdict.OVER, "there is no time for that"


@given(st.lists(st.tuples(st.integers(150, 1_300), st.booleans(), st.booleans())))
def test_whatever_was_before_nothing_pauses_for_ever_and_nothing_below_the_budget_ends_at_once(
    looks: list[tuple[int, bool, bool]],
) -> None:
    pressure = Pressure(_BUDGET, _FIXED)
    used = 0
    for used, is_relieved, is_still in looks:
        verdict = pressure.look(used, is_relieved, is_still)
        if verdict is Verdict.OVER:
            assert used > _BUDGET or (is_relieved and is_still and _BUDGET - used < 0.03 * 800)
            return
        assert (verdict is Verdict.PAUSE) == pressure.paused
        assert not pressure.paused or used > 760
        assert pressure.paused or used < 840 or used < _BUDGET
    if pressure.paused:
        assert pressure.look(used, True, True) is not Verdict.PAUSE


def test_state_that_grows_by_what_it_is_given_comes_to_an_end_in_few_steps() -> None:
    pressure = Pressure(_BUDGET, _FIXED)
    used, pauses = 200, 0
    while (verdict := pressure.look(used, pressure.paused, pressure.paused)) is not Verdict.OVER:
        pauses += verdict is Verdict.PAUSE
        used += verdict is Verdict.GO_ON
        assert used <= _BUDGET
    assert used > 0.97 * _BUDGET
    assert 2 <= pauses <= 6
