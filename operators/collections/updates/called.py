"""Totals that an aggregate's functions make: they fold a key's rows anew, each as often as it is there."""

from collections.abc import Sequence

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, record_of, room
from tokenring.operators.folds import CALLED
from tokenring.operators.folds.called import (
    Call,
    FoldJob,
    argument_of,
    combine_slots,
    finish_slots,
    is_updated,
    take_argument,
)
from tokenring.operators.state import canonical_float

MOST_PARAMETERS = 2


class TotalRule(Record):
    """How a total is made: by which `operation`, of which `column` (or of which part on); `present`: the part that
    counts what is not null (-1: that cannot be; of columns it says only that); `no_value`: the word that stands for
    null in the result; `most`: the greatest decimal that the result holds, 0 of other kinds; `unit`: of a mean, how
    many of its sum's units make 1, 0 of all else. Of one that functions make besides: their `call`; where its `state`
    is among the words that they are called with, and behind it room for two more; `finalize`, whether the result is a
    float64, what `finalize` takes beside the state, and what it may `also` make, see `made_also`."""

    operation: int
    column: int
    present: int
    no_value: int
    most: int
    unit: int
    call: Call
    state: int
    finalize: int
    is_float: int
    also: int
    parameter_count: int
    parameters: Words = room(MOST_PARAMETERS)


class TotalJob(FoldJob):
    """What functions are called with: the one slot, a row's two words, and the result. Behind it are the totals'
    states."""

    slot: Words = room(1)
    first: Words = room(1)
    second: Words = room(1)
    result: Words = room(1)


TOTAL_WORDS = TotalRule.size


def place_states(rules: Sequence[TotalRule]) -> None:
    """Say of totals that functions make where their states are."""
    at = TotalJob.size
    for rule in rules:
        rule.state, at = at, at + 3 * rule.call.width


@kernel
def room_of_called(totals: Sequence[TotalRule]) -> int:
    """How many words functions are called with, and for."""
    room = 0
    for total in range(len(totals)):
        if totals[total].operation == CALLED:
            room = totals[total].state + 3 * totals[total].call.width
    return room


@kernel
def _state_of(rule: TotalRule, room: Words, number: int = 0) -> Words:
    """Where a total's state is, or one of the two behind it."""
    return room[rule.state + number * rule.call.width : rule.state + (number + 1) * rule.call.width]


@kernel
def start_called(rule: TotalRule, room: Words) -> bool:
    """No row yet; False if a function raised."""
    return _starts(rule, _state_of(rule, room), room)


@kernel
def _starts(rule: TotalRule, state: Words, room: Words) -> bool:
    job = record_of(room, TotalJob)
    job.slot[0] = 0
    return is_updated(rule.call.init, room.ctypes.data, state.ctypes.data, job.slot)


@kernel
def _combines(rule: TotalRule, state: Words, other: Words, room: Words) -> bool:
    only = record_of(room, TotalJob).slot
    return combine_slots(
        rule.call.combine, room.ctypes.data, state.ctypes.data, 0, only, other.ctypes.data, 0, only
    )  # fmt: skip


@kernel
def _updates(rule: TotalRule, state: Words, room: Words) -> bool:
    job = record_of(room, TotalJob)
    job.arguments[0], job.arguments[1] = job.first.ctypes.data, job.second.ctypes.data
    return is_updated(rule.call.update, room.ctypes.data, state.ctypes.data, job.slot)


@kernel
def add_called(rows: Words, row: int, count: int, rule: TotalRule, room: Words) -> bool:
    """Add a row that is there so often, unless a column of it is null, whose first one is the total's; False if a
    function raised. One that is there often is added once, to a state that is then combined with itself."""
    two, job = rule.call.count == 2, record_of(room, TotalJob)
    first, second = argument_of(rule.call, 0), argument_of(rule.call, 1)
    if two and second.nullable != 0 and rows[second.column, row] == second.null:
        return True
    job.slot[0], job.first[0] = 0, rows[first.column, row]
    take_argument(first.takes, job.first, job.first)
    if two:
        job.second[0] = rows[second.column, row]
        take_argument(second.takes, job.second, job.second)
    state = _state_of(rule, room)
    if count == 1:
        return _updates(rule, state, room)
    several, same = _state_of(rule, room, 1), _state_of(rule, room, 2)
    if not _starts(rule, several, room) or not _updates(rule, several, room):
        return False
    while True:
        if count & 1 and not _combines(rule, state, several, room):
            return False
        count >>= 1
        if count == 0:
            return True
        same[:] = several
        if not _combines(rule, several, same, room):
            return False


@kernel
def called_total(rule: TotalRule, room: Words) -> tuple[int, bool]:
    """The word of a total, null where that is nothing; and whether it could be made."""
    job, state = record_of(room, TotalJob), _state_of(rule, room)
    job.slot[0] = 0
    is_made = finish_slots(
        rule.finalize, room.ctypes.data, state.ctypes.data, 0, job.slot, rule.no_value,
        rule.parameters.ctypes.data, rule.parameter_count, job.result, rule.also,
    )  # fmt: skip
    return (canonical_float(job.result[0], rule.no_value) if rule.is_float != 0 else job.result[0]), is_made
