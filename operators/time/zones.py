"""Windows by the clock on a wall: where they end in a time zone, whose days have 23, 24 or 25 hours."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from tokenring.engine import Time
from tokenring.operators.durations import DAY

_EPOCH = datetime(1970, 1, 1)
_AROUND = 2 * DAY  # beyond any difference to UTC, and any change of it
_FAR = 2**63 - 1  # there are no instants beyond
_MORE = 64  # windows, of which the bounds are made at least


class WallClock:
    """The instants (UTC, ns) at which a zone's clock shows a multiple of `width` plus `offset` (ns, whole seconds).

    A time that the clock skips is when it would have been; one that it shows twice is the first of the two, or both if
    the hour that comes again is a multiple of the width: so there are 25 windows of an hour in a day of 25 hours, and
    days, and parts of days, become longer or shorter.
    """

    def __init__(self, zone: ZoneInfo, width: int, offset: int) -> None:
        self._zone, self._width, self._offset = zone, width, offset
        self._ends = np.zeros(0, np.int64)
        self._first = self._last = 0  # the range of instants that the table covers

    def ends(self, times: np.ndarray) -> np.ndarray:
        """The end of each instant's window: int64 (rows,)."""
        if not len(times):
            return np.zeros(0, np.int64)
        self.cover(int(times.min()), int(times.max()))
        return self._ends[np.searchsorted(self._ends, times, "right")]

    def start(self, end: Time) -> Time:
        """The start of the window that ends there."""
        self.cover(end - self.longest, end)
        return int(self._ends[np.searchsorted(self._ends, end) - 1])

    @property
    def longest(self) -> int:
        """No window is longer."""
        return self._width + _AROUND

    @property
    def table(self) -> tuple[np.ndarray, Time, Time]:
        """Where windows end, int64 (n,) in order; of those of all instants between these two, it has the bounds."""
        return self._ends, self._first, self._last

    def cover(self, first: Time, last: Time) -> None:
        """Have the bounds of all windows of instants `first` .. `last` in the table, and of some more."""
        if len(self._ends) and self._first <= first and last <= self._last:
            return
        if len(self._ends):  # twice as many, so that each is made a few times
            more = max(self._last - self._first, _MORE * self._width)
            first = self._first if self._first <= first else min(first, self._first - more)
            last = self._last if last <= self._last else max(last, self._last + more)
        first, last = max(first, -_FAR), min(last, _FAR)
        step = self._width
        numbers = range((first - _AROUND - self._offset) // step - 1, (last + _AROUND - self._offset) // step + 3)
        found = {instant for number in numbers for instant in self._instants(number * step + self._offset)}
        ends = [instant for instant in sorted(found) if -_FAR < instant < _FAR]
        self._ends, self._first, self._last = np.array([-_FAR, *ends, _FAR], np.int64), first, last

    def _instants(self, wall: int) -> list[int]:
        local = _EPOCH + timedelta(microseconds=wall // 1_000)
        once, again = [self._instant(local.replace(tzinfo=self._zone, fold=fold)) for fold in (0, 1)]
        return [once, again] if again > once and (again - once) % self._width == 0 else [once]

    @staticmethod
    def _instant(local: datetime) -> int:
        return (local.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1) * 1_000
