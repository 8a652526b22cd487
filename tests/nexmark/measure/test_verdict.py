"""The verdict on a run, from lateness that is made here: what is known to hold, to grow, or to be too short to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tokenring.nexmark.measure.verdict import (
    BEHIND_NS,
    DNF,
    HELD,
    LOOK_EVERY_NS,
    UNDECIDED,
    Backlog,
    Verdict,
    judge,
    until_decided,
)

SECOND = 1_000_000_000


def watched(late_ns: Callable[[int], float], seconds: float, from_ns: int = 0) -> tuple[Backlog, int | None]:
    """A backlog that saw this lateness, and when it called the run lost."""
    backlog = Backlog(from_ns)
    for now_ns in range(0, int(seconds * SECOND), LOOK_EVERY_NS):
        if backlog.note(now_ns, int(late_ns(now_ns))):
            return backlog, now_ns
    return backlog, None


def verdict_of(late_ns: Callable[[int], float], seconds: float, from_ns: int = 0) -> Verdict:
    backlog, lost_at = watched(late_ns, seconds, from_ns)
    return judge([backlog.trail], lost_at is not None)


def noise(seed: int, hiccups: float = 0.0) -> Callable[[int], float]:
    """0.1 to 1 ms late, and sometimes 20 ms."""
    rng = np.random.default_rng(seed)
    return lambda now_ns: rng.uniform(1e5, 1e6) + (2e7 if rng.random() < hiccups else 0)


@pytest.mark.parametrize("seconds", [1.0, 2.0, 10.0, 60.0])
@pytest.mark.parametrize("hiccups", [0.0, 0.2])
def test_lateness_that_stays_holds(seconds: float, hiccups: float) -> None:
    verdicts = [verdict_of(noise(seed, hiccups), seconds) for seed in range(20)]
    assert {one.verdict for one in verdicts} <= {HELD, UNDECIDED}
    assert sum(one.verdict == HELD for one in verdicts) >= 19
    assert all(one.slope is not None and abs(one.slope) < 1 / 300 for one in verdicts)


@pytest.mark.parametrize("growth", [0.0115, 0.02, 0.1, 0.4])
def test_a_backlog_that_grows_is_a_dnf_however_short_of_a_second(growth: float) -> None:
    """23 ms late after two seconds: nowhere near a second, and lost all the same."""
    for seed in range(20):
        base = noise(seed, 0.1)
        found = verdict_of(lambda now_ns, base=base: base(now_ns) + growth * now_ns, 2.0)  # type: ignore[misc]
        assert found.verdict == DNF
        assert found.slope == pytest.approx(growth, rel=0.3)


def test_a_run_too_short_is_undecided() -> None:
    assert verdict_of(noise(1), 0.2).verdict == UNDECIDED
    assert judge([]) == judge([[]]) == Verdict(UNDECIDED, None)


def test_a_little_growth_is_the_machines_until_it_is_more() -> None:
    """5 ms a second: 10 ms in two seconds might be anything, 30 ms in six is a backlog."""
    base = noise(4)
    assert verdict_of(lambda now_ns: base(now_ns) + 0.005 * now_ns, 2.0).verdict == UNDECIDED
    assert verdict_of(lambda now_ns: base(now_ns) + 0.005 * now_ns, 6.0).verdict == DNF


def test_growth_that_might_be_noise_is_undecided_until_it_is_told_by_more() -> None:
    rng = np.random.default_rng(3)

    def late(now_ns: int) -> float:
        return float(0.0033 * now_ns + rng.uniform(0, 1e7))

    assert verdict_of(late, 0.8).verdict == UNDECIDED
    assert verdict_of(lambda now_ns: 2 * late(now_ns), 30).verdict == DNF


def test_a_start_is_no_trend() -> None:
    """Late at first, while caches fill, and less and less so; or as a backlog that is worked off."""
    assert verdict_of(lambda now_ns: max(0, 3e8 - now_ns), 2.0, from_ns=SECOND // 2).verdict == HELD
    assert verdict_of(lambda now_ns: now_ns / 2 if now_ns < SECOND / 2 else 1e5, 2.0, SECOND // 2).verdict == HELD


def test_a_run_that_is_lost_ends_early() -> None:
    _, lost_at = watched(lambda now_ns: 0.3 * now_ns, 60)
    assert lost_at is not None and lost_at < 2 * SECOND  # it would be a second late after 3.3 s
    _, lost_at = watched(lambda now_ns: 2 * now_ns, 60, from_ns=50 * SECOND)
    assert lost_at is not None and BEHIND_NS <= 2 * lost_at < BEHIND_NS + 4 * LOOK_EVERY_NS
    _, lost_at = watched(noise(5, 0.5), 60)
    assert lost_at is None


def test_one_worker_that_falls_behind_loses_the_run_and_one_in_doubt_leaves_it_open() -> None:
    good, _ = watched(noise(1), 2)
    bad, _ = watched(lambda now_ns: 0.02 * now_ns, 2)
    short, _ = watched(noise(2), 0.2)
    assert judge([good.trail, good.trail]).verdict == HELD
    assert judge([good.trail, bad.trail]).verdict == DNF
    assert judge([good.trail, short.trail]).verdict == UNDECIDED
    assert judge([good.trail], gave_up=True).verdict == DNF


def test_long_runs_are_kept_in_few_stretches() -> None:
    backlog, _ = watched(lambda now_ns: 0.001 * now_ns, 90)
    assert len(backlog.trail) < 128
    assert backlog.trail[-1][0] == pytest.approx(90, rel=0.05)
    assert judge([backlog.trail]).slope == pytest.approx(0.001, rel=0.01)


def test_a_stretch_in_which_nobody_looked_takes_its_time_all_the_same() -> None:
    backlog = Backlog(0)
    for now_ns in [*range(0, SECOND, LOOK_EVERY_NS), *range(3 * SECOND, 4 * SECOND, LOOK_EVERY_NS)]:
        assert not backlog.note(now_ns, int(0.001 * now_ns))
    assert backlog.trail[-1][0] == pytest.approx(4, abs=0.2)
    assert judge([backlog.trail]).slope == pytest.approx(0.001, rel=0.2)


def test_a_point_is_measured_again_for_longer_until_it_is_decided() -> None:
    asked: list[float] = []

    def measure(verdicts: Iterator[str]) -> Callable[[float], dict[str, Any]]:
        def one(seconds: float) -> dict[str, Any]:
            asked.append(seconds)
            return {"verdict": next(verdicts), "seconds": seconds}

        return one

    assert until_decided(measure(iter([UNDECIDED, DNF])), 2.0, 8.0) == {"verdict": DNF, "seconds": 4.0}
    assert until_decided(measure(iter([HELD])), 2.0, 8.0)["seconds"] == 2.0
    assert until_decided(measure(iter([UNDECIDED] * 9)), 2.0, 7.0) == {"verdict": UNDECIDED, "seconds": 4.0}
    assert until_decided(measure(iter([UNDECIDED] * 9)), 2.0) == {"verdict": UNDECIDED, "seconds": 8.0}
    assert asked == [2.0, 4.0, 2.0, 2.0, 4.0, 2.0, 4.0, 8.0]
