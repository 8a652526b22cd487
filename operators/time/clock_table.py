"""Windows by the clock on a wall as a table that kernels read: where they end."""

from typing import TYPE_CHECKING

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, address_of, record_at, words_at
from tokenring.operators.state import count_upto

if TYPE_CHECKING:
    from tokenring.operators.time.zones import WallClock


class ClockTable(Record):
    """`firsts`, `lasts`: where the first and last windows of each of `count` runs end, in order; in a run each window
    ends `width` behind the one before. The windows of all instants `first` .. `last` are among them, and the ones
    before. `wanted_first`, `wanted_last`: of which they are to be, if `lacks`. `longest`: no window is longer."""

    firsts: int
    lasts: int
    count: int
    width: int
    first: int
    last: int
    wanted_first: int
    wanted_last: int
    lacks: int
    longest: int


@kernel
def knows(address: int, first: int, last: int) -> bool:
    """Whether the windows of all instants `first` .. `last` are there; if not, that is noted. address: of the table."""
    clock = record_at(address, ClockTable)
    if clock.count > 0 and clock.first <= first and last <= clock.last:
        return True
    clock.wanted_first, clock.wanted_last, clock.lacks = first, last, 1
    return False


@kernel
def knows_starts(address: int, first: int, last: int) -> bool:
    """The same of the starts of the windows that end in `first` .. `last`."""
    return knows(address, first - record_at(address, ClockTable).longest, last)


@kernel
def ends_by_clock(address: int, times: Words, ends: Words) -> None:
    """Write the end of each instant's window, which the table has."""
    clock = record_at(address, ClockTable)
    firsts, lasts, run = words_at(clock.firsts, clock.count), words_at(clock.lasts, clock.count), 0
    for i in range(len(times)):
        if times[i] < firsts[run] or times[i] >= firsts[run + 1]:
            run = min(max(count_upto(firsts, times[i]) - 1, 0), clock.count - 2)
        if times[i] < lasts[run]:
            ends[i] = firsts[run] + ((times[i] - firsts[run]) // clock.width + 1) * clock.width
        else:
            ends[i] = firsts[run + 1]


@kernel
def longest_of(address: int) -> int:
    """How long no window is longer than."""
    return record_at(address, ClockTable).longest


@kernel
def start_by_clock(address: int, end: int) -> int:
    """The start of the window that ends there, which the table has."""
    clock = record_at(address, ClockTable)
    firsts, lasts = words_at(clock.firsts, clock.count), words_at(clock.lasts, clock.count)
    run = count_upto(firsts, end) - 1
    return end - clock.width if end > firsts[run] else lasts[run - 1]


class ClockWindows:
    """What kernels read of a clock: the table at `address`."""

    def __init__(self, clock: "WallClock") -> None:
        self._clock, self._table = clock, ClockTable()
        self._table.width, self._table.longest = clock.width, clock.longest
        self.address = self._table.address

    def grow(self) -> None:
        """Have the windows that were wanted."""
        table = self._table
        if table.lacks:
            self._clock.cover(table.wanted_first, table.wanted_last)
            self._firsts, self._lasts, table.first, table.last = self._clock.runs
            table.firsts, table.lasts = address_of(self._firsts), address_of(self._lasts)
            table.count, table.lacks = len(self._firsts), 0
