"""Whether a run holds its rate: by how late its oldest event is over time, not by how late it was when it ended.

An engine that is too slow by little falls behind by little: a run of two seconds ends long before it is a second
behind. So lateness (how long ago the oldest event not yet done was due) is followed over the run, as the least of each
stretch of time, which a hiccup does not raise and a backlog does. Its trend is Sen's slope (the median over all pairs
of stretches) with his bounds of confidence. A run whose trend would be a second late within five minutes is a DNF, one
whose trend surely would not holds, and what lies between has to run for longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np

HELD, DNF, UNDECIDED = "held", "dnf", "undecided"
BEHIND_NS = 1_000_000_000
"""Lateness that ends a run at once."""
LOOK_EVERY_NS = 5_000_000
LONGEST = 4
"""A point that stays undecided is measured for at most so many times the seconds asked for."""

_SLOPE = 1 / 300  # seconds late a second: a second within five minutes
_SIGMAS = 3.0
_FEWEST = 16  # stretches on which a run is called lost: what the machine does meanwhile goes on for a few of them
_GROWN_S = 0.02  # and so much later it must be at the end: less is the machine's
_STRETCH_NS = 50_000_000
_STRETCHES = 128  # then neighbours become one, so that all pairs stay few
_VISIBLE_NS = 50_000_000  # less lateness than this is no reason to end a run early

Trail = list[list[float]]
"""(second, lateness in seconds) of each stretch: what a worker tells of its backlog."""


@dataclass(frozen=True)
class Verdict:
    """verdict: HELD, DNF or UNDECIDED. slope: how many seconds later a second; None where too little was seen."""

    verdict: str
    slope: float | None


class Backlog:
    """One worker's lateness over a run. Nothing before `from_ns` counts: a start is no trend."""

    def __init__(self, from_ns: int) -> None:
        self._from_ns = from_ns
        self._stretch_ns = _STRETCH_NS
        self._stretch = -1
        self._least: list[int] = []
        self._check_at = _FEWEST
        self.next_look_ns = 0

    def note(self, now_ns: int, late_ns: int) -> bool:
        """Take in how late the oldest event is; whether the run is lost: the verdict cannot change any more."""
        self.next_look_ns = now_ns + LOOK_EVERY_NS
        if late_ns > BEHIND_NS:
            return True
        stretch = (now_ns - self._from_ns) // self._stretch_ns
        if stretch < 0:
            return False
        late_ns = max(late_ns, 0)
        if stretch == self._stretch:
            self._least[-1] = min(self._least[-1], late_ns)
            return False
        self._least += [late_ns] * min(stretch - self._stretch, _STRETCHES)  # nobody looked meanwhile
        self._stretch = stretch
        if len(self._least) >= _STRETCHES:
            self._halve()
        elif len(self._least) >= self._check_at and late_ns > _VISIBLE_NS:
            self._check_at *= 2  # seldom: a look at all pairs is a hiccup by itself, and each is a chance to err
            return judge([self.trail]).verdict == DNF
        return False

    def _halve(self) -> None:
        while len(self._least) >= _STRETCHES:
            self._least = [min(self._least[at : at + 2]) for at in range(0, len(self._least), 2)]
            self._stretch_ns *= 2
            self._stretch //= 2
        self._check_at = max(_FEWEST, self._check_at // 2)

    @property
    def trail(self) -> Trail:
        """What was seen, without the last stretch, which may be short."""
        width_s = self._stretch_ns / 1e9
        return [[at * width_s, late / 1e9] for at, late in enumerate(self._least[:-1])]


def judge(trails: Iterable[Trail], gave_up: bool = False) -> Verdict:
    """The verdict on a run of these workers: lost if one of them is, held if all hold. gave_up: one was told so, or was
    BEHIND_NS late."""
    found = [_trend(trail) for trail in trails]
    slopes = [slope for _, slope, _ in found if slope is not None]
    slope = max(slopes, default=None)
    if gave_up or any(least > _SLOPE for least, _, _ in found):
        return Verdict(DNF, slope)
    return Verdict(HELD if found and all(most < _SLOPE for _, _, most in found) else UNDECIDED, slope)


def _trend(trail: Sequence[Sequence[float]]) -> tuple[float, float | None, float]:
    """(surely more than, slope, surely less than), all in seconds a second."""
    stretches = len(trail)
    if stretches < 2:
        return -np.inf, None, np.inf
    at, late = np.array(trail, float).T
    first, second = np.triu_indices(stretches, 1)
    slopes = np.sort((late[second] - late[first]) / (at[second] - at[first]))
    pairs = len(slopes)
    doubt = _SIGMAS * sqrt(stretches * (stretches - 1) * (2 * stretches + 5) / 18)
    low, high = int((pairs - doubt) // 2), int(-(-(pairs + doubt) // 2))
    slope = float(np.median(slopes))
    grown = stretches >= _FEWEST and slope * (at[-1] - at[0]) >= _GROWN_S
    return (float(slopes[low]) if grown else -np.inf), slope, (float(slopes[high]) if high < pairs else np.inf)


def until_decided(measure: Callable[[float], dict[str, Any]], seconds: float, most: float = inf) -> dict[str, Any]:
    """Measure for `seconds`, and for twice as long while the outcome's "verdict" is UNDECIDED, up to LONGEST times, and
    no more than `most` seconds; the last outcome."""
    most = min(LONGEST * seconds, most)
    while True:
        outcome = measure(seconds)
        if outcome["verdict"] != UNDECIDED or 2 * seconds > most:
            return outcome
        seconds *= 2
