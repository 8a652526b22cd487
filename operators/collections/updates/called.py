"""Totals that an aggregate's functions make: they fold a key's rows anew, each as often as it is there."""

from collections.abc import Sequence

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, record_of, room
from tokenring.operators.collections.updates.exact_sums import CALLED
from tokenring.operators.collections.words import KindRow, is_null
from tokenring.operators.folds.called import FoldJob, combine_slots, finish_slots, is_updated, take_argument
from tokenring.operators.state import canonical_float

MOST_PARAMETERS = 2


class TotalRule(Record):
    """How a total is made: by which `operation`, of which `column` (or of which part on); `present`: the part that
    counts what is not null (-1: that cannot be; of columns it says only that); `no_value`: the word that stands for
    null in the result; `most`: the greatest decimal that the result holds, 0 of other kinds. Of one that functions make
    besides: their entries, how many words a state is (`width`), how many columns they take (`arguments`), what of the
    first, which the second is and what of it; whether the result is a float64; what `finalize` takes beside the state,
    and what it may `also` make, see `made_also`."""

    operation: int
    column: int
    present: int
    no_value: int
    most: int
    init: int
    update: int
    combine: int
    finalize: int
    width: int
    arguments: int
    takes: int
    second: int
    second_takes: int
    is_float: int
    also: int
    parameter_count: int
    parameters: Words = room(MOST_PARAMETERS)


class TotalJob(FoldJob):
    """What functions are called with: the one slot, a row's two words, and the result. Behind it are two states, of a
    row and of twice as many, and those of the totals."""

    slot: Words = room(1)
    first: Words = room(1)
    second: Words = room(1)
    result: Words = room(1)


TOTAL_WORDS = TotalRule.size
_ROOM = TotalJob.size


@kernel
def room_of_called(totals: Sequence[TotalRule]) -> int:
    """How many words functions are called with, and for."""
    widest, room = 0, 0
    for total in range(len(totals)):
        if totals[total].operation == CALLED:
            widest = max(widest, totals[total].width)
            room += totals[total].width
    return _ROOM + 2 * widest + room if widest > 0 else 0


@kernel
def _widest(totals: Sequence[TotalRule]) -> int:
    widest = 0
    for total in range(len(totals)):
        if totals[total].operation == CALLED:
            widest = max(widest, totals[total].width)
    return widest


@kernel
def _state_of(totals: Sequence[TotalRule], total: int, room: Words) -> Words:
    """Where a total's state is."""
    at = _ROOM + 2 * _widest(totals)
    for before in range(total):
        if totals[before].operation == CALLED:
            at += totals[before].width
    return room[at : at + totals[total].width]


@kernel
def start_called(totals: Sequence[TotalRule], total: int, room: Words) -> bool:
    """No row yet; False if a function raised."""
    return _starts(totals, total, _state_of(totals, total, room), room)


@kernel
def _starts(totals: Sequence[TotalRule], total: int, state: Words, room: Words) -> bool:
    job = record_of(room, TotalJob)
    job.slot[0] = 0
    return is_updated(totals[total].init, room.ctypes.data, state.ctypes.data, job.slot)


@kernel
def _combines(totals: Sequence[TotalRule], total: int, state: Words, other: Words, room: Words) -> bool:
    only = record_of(room, TotalJob).slot
    return combine_slots(
        totals[total].combine, room.ctypes.data, state.ctypes.data, 0, only, other.ctypes.data, 0, only
    )  # fmt: skip


@kernel
def _updates(totals: Sequence[TotalRule], total: int, state: Words, room: Words) -> bool:
    job = record_of(room, TotalJob)
    job.arguments[0], job.arguments[1] = job.first.ctypes.data, job.second.ctypes.data
    return is_updated(totals[total].update, room.ctypes.data, state.ctypes.data, job.slot)


@kernel
def add_called(
    rows: Words, row: int, count: int, totals: Sequence[TotalRule], total: int, kinds: Sequence[KindRow], room: Words
) -> bool:
    """Add a row that is there so often, unless a column of it is null, whose first one is the total's; False if a
    function raised. One that is there often is added once, to a state that is then combined with itself."""
    second, two = totals[total].second, totals[total].arguments == 2
    if two and is_null(kinds, second, rows[second, row]):
        return True
    job = record_of(room, TotalJob)
    job.slot[0], job.first[0] = 0, rows[totals[total].column, row]
    take_argument(totals[total].takes, job.first, job.first)
    if two:
        job.second[0] = rows[second, row]
        take_argument(totals[total].second_takes, job.second, job.second)
    state, width = _state_of(totals, total, room), totals[total].width
    if count == 1:
        return _updates(totals, total, state, room)
    several, same = room[_ROOM : _ROOM + width], room[_ROOM + width : _ROOM + 2 * width]
    if not _starts(totals, total, several, room) or not _updates(totals, total, several, room):
        return False
    while True:
        if count & 1 and not _combines(totals, total, state, several, room):
            return False
        count >>= 1
        if count == 0:
            return True
        same[:] = several
        if not _combines(totals, total, several, same, room):
            return False


@kernel
def called_total(totals: Sequence[TotalRule], total: int, null: int, room: Words) -> tuple[int, bool]:
    """The word of a total, `null` where that is nothing; and whether it could be made."""
    job, state = record_of(room, TotalJob), _state_of(totals, total, room)
    job.slot[0] = 0
    is_made = finish_slots(
        totals[total].finalize, room.ctypes.data, state.ctypes.data, 0, job.slot, null,
        totals[total].parameters.ctypes.data, totals[total].parameter_count, job.result,
        totals[total].also,
    )  # fmt: skip
    return (canonical_float(job.result[0], null) if totals[total].is_float != 0 else job.result[0]), is_made
