"""Windows by the clock on a wall: where they end in a time zone, whose days have 23, 24 or 25 hours."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np

from tokenring.engine import Time
from tokenring.operators.durations import DAY, SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AROUND = 2 * DAY  # beyond any difference to UTC, and any change of it
_FAR = 2**63 - 1  # there are no instants beyond
_MORE = 64  # windows, of which the bounds are made at least


class WallClock:
    """The instants (UTC, ns) at which a zone's clock shows a multiple of `width` plus `offset` (ns, whole seconds).

    A time that the clock skips is when it would have been; one that it shows twice is the first of the two, or both if
    the hour that comes again is a multiple of the width: so there are 25 windows of an hour in a day of 25 hours, and
    days, and parts of days, become longer or shorter.

    Windows end in runs, each a width behind the one before: a run for each stretch between two changes of the clock.
    """

    def __init__(self, zone: ZoneInfo, width: int, offset: int) -> None:
        self._zone, self._offset = zone, offset
        self.width = width
        self._firsts = self._lasts = np.zeros(0, np.int64)
        self._from = self._upto = 0  # the range of instants that the runs cover

    def ends(self, times: np.ndarray) -> np.ndarray:
        """The end of each instant's window: int64 (rows,)."""
        if not len(times):
            return np.zeros(0, np.int64)
        self.cover(int(times.min()), int(times.max()))
        run = np.clip(np.searchsorted(self._firsts, times, "right") - 1, 0, len(self._firsts) - 2)
        first = self._firsts[run]
        in_run = first + ((times - first) // self.width + 1) * self.width
        ends: np.ndarray = np.where(times < self._lasts[run], in_run, self._firsts[run + 1])
        return ends

    def start(self, end: Time) -> Time:
        """The start of the window that ends there."""
        self.cover(end - self.longest, end)
        run = int(np.searchsorted(self._firsts, end, "right")) - 1
        return end - self.width if end > self._firsts[run] else int(self._lasts[run - 1])

    @property
    def longest(self) -> int:
        """No window is longer."""
        return self.width + _AROUND

    @property
    def runs(self) -> tuple[np.ndarray, np.ndarray, Time, Time]:
        """Where the windows of each run end, int64 (runs,) in order, the first ones and the last ones; all of them of
        instants between these two."""
        return self._firsts, self._lasts, self._from, self._upto

    def cover(self, first: Time, last: Time) -> None:
        """Have the windows of instants `first` .. `last` among the runs, and of some more."""
        if len(self._firsts) and self._from <= first and last <= self._upto:
            return
        if len(self._firsts):  # twice as many, so that each is made a few times
            more = max(self._upto - self._from, _MORE * self.width)
            first = self._from if self._from <= first else min(first, self._from - more)
            last = self._upto if last <= self._upto else max(last, self._upto + more)
        first, last = max(first, -_FAR), min(last, _FAR)
        around = self.longest  # a stretch may be shorter than a window
        found = self._runs(max(first - around, 1 - _FAR), min(last + around, _FAR))
        runs = np.array([(-_FAR, -_FAR), *found, (_FAR, _FAR)], np.int64)
        self._firsts, self._lasts, self._from, self._upto = *np.ascontiguousarray(runs.T), first, last

    def _runs(self, begin: Time, stop: Time) -> Iterator[tuple[Time, Time]]:
        """First and last ends of the runs from `begin` to before `stop`."""
        changes = [begin, *self._changes(begin, stop), stop]
        before = self._ahead(begin)
        for at, until in pairwise(changes):
            ahead = self._ahead(at)
            if (ahead - before) % self.width:
                # What the clock skips is when it would have been, among what it shows from then on; or what it shows
                # again is left out.
                odd = max(ahead - before, 0)
                both = {*self._between(at, at + odd, before), *self._between(at, at + odd, ahead)}
                yield from [(end, end) for end in sorted(both)]
                at += abs(ahead - before)
            if ends := self._between(at, until, ahead):
                yield ends[0], ends[-1]
            before = ahead

    def _between(self, begin: Time, stop: Time, ahead: int) -> range:
        """Where windows end from `begin` to before `stop`, by a clock that is so far ahead of UTC."""
        return range(begin + (self._offset - ahead - begin) % self.width, stop, self.width)

    def _changes(self, begin: Time, stop: Time) -> Iterator[Time]:
        """When the clock is put forward or back. It was never by more than once in four days, and is on a second."""
        known = self._ahead(begin)
        for at in range(begin, stop, DAY):
            if (ahead := self._ahead(at + DAY)) == known:
                continue
            before, behind = at // SECOND, -(-(at + DAY) // SECOND)
            while behind - before > 1:
                middle = (before + behind) // 2
                if self._ahead(middle * SECOND) == known:
                    before = middle
                else:
                    behind = middle
            if begin < behind * SECOND < stop:
                yield behind * SECOND
            known = ahead

    def _ahead(self, instant: Time) -> int:
        """How far the clock is ahead of UTC, in ns."""
        ahead = (_EPOCH + timedelta(seconds=instant // SECOND)).astimezone(self._zone).utcoffset()
        assert ahead is not None
        return ahead // timedelta(seconds=1) * SECOND
