"""Calls of aggregates' functions in compiled operators: for rows of a message, for slots, for results."""

from collections.abc import Sequence

from tokenring.engine import Kind, kernel
from tokenring.engine.compiled import RAISED, Record, Words, call_at, column_of, record_at, record_of, room
from tokenring.operators.folds.called.functions import Functions
from tokenring.operators.folds.called.job import IS_VALUE, FoldJob
from tokenring.operators.folds.called.takes import AS_IT_IS, take_argument, takes_of

MOST_ARGUMENTS = 2


class Argument(Record):
    """What a function takes of a column of messages: see takes.py; and the word that stands for null there."""

    column: int
    takes: int
    nullable: int
    null: int


_ARGUMENT_WORDS = Argument.size


class Call(Record):
    """Whose functions a fold is of: the entries' addresses, and how many words a state is; whether rows are states, in
    columns from the first argument's on; else the arguments, an Argument each."""

    init: int
    update: int
    combine: int
    retract: int
    width: int
    are_states: int
    count: int
    arguments: Words = room(MOST_ARGUMENTS * _ARGUMENT_WORDS)


_SLOTS, _ROWS, _TAKEN = range(3)
SCRATCH_ROWS = _TAKEN + MOST_ARGUMENTS


def call_words(functions: Functions, columns: Sequence[tuple[int, Kind]], are_states: bool = False) -> list[int]:
    """A Call of functions. columns: those that they take, or the first one of their states."""
    retract = 0 if functions.retract is None else functions.retract.address
    words = [functions.init.address, functions.update.address, functions.combine.address, retract]
    words += [functions.width, are_states, len(columns)]
    for (column, kind), taken in zip(columns, functions.takes, strict=not are_states):
        words += [column, 0 if are_states else takes_of(taken, kind), kind.nullable, kind.null]
    return words + [0] * (Call.size - len(words))


@kernel
def argument_of(call: Call, which: int) -> Argument:
    """What a function takes as its first argument, or its second."""
    return record_of(call.arguments[which * _ARGUMENT_WORDS :], Argument)


@kernel
def _chosen(call: Call, where: int, message: int, start: int, slots: Words, scratch: Words) -> int:
    """Write the rows that it is about, from 0, and their slots; how many there are, -1 for all."""
    rows = len(slots)
    is_chosen, is_any = scratch[_ROWS][:rows], where >= 0
    is_chosen[:] = 1
    if where >= 0:
        conditions = column_of(message, where)
        for i in range(rows):
            is_chosen[i] = conditions[start + i] == 1
    for which in range(call.count):
        if argument_of(call, which).nullable:
            is_any = True
            null, words = argument_of(call, which).null, column_of(message, argument_of(call, which).column)
            for i in range(rows):
                is_chosen[i] &= words[start + i] != null
    if not is_any:
        return -1
    count = 0
    for i in range(rows):
        if is_chosen[i]:
            scratch[_SLOTS, count], scratch[_ROWS, count] = slots[i], i
            count += 1
    return count


@kernel
def update_rows(
    call: Call, job: int, where: int, message: int, start: int, slots: Words, states: int, stride: int, scratch: Words
) -> bool:
    """Fold rows of a message from `start` on into their slots; False if a function raised. states, stride: as of a
    job; where: a column of bool, or -1; scratch: (SCRATCH_ROWS, at least as many rows)."""
    count = _chosen(call, where, message, start, slots, scratch)
    is_all = count < 0
    if is_all:
        count = len(slots)
    its = record_at(job, FoldJob)
    its.states, its.stride = states, stride
    its.slots = slots.ctypes.data if is_all else scratch[_SLOTS].ctypes.data
    for which in range(call.count):
        column = column_of(message, argument_of(call, which).column)[start : start + len(slots)]
        takes, taken = argument_of(call, which).takes, scratch[_TAKEN + which][:count]
        its.arguments[which] = taken.ctypes.data
        if not is_all:
            for i in range(count):
                taken[i] = column[scratch[_ROWS, i]]
            take_argument(takes, taken, taken)
        elif takes == AS_IT_IS:
            its.arguments[which] = column.ctypes.data
        else:
            take_argument(takes, column, taken)
    return call_at(call.update, job, count) != RAISED


@kernel
def combine_rows(
    call: Call, job: int, message: int, start: int, slots: Words, states: int, stride: int, scratch: Words
) -> bool:
    """The same of rows that are states; scratch: room for one, as words."""
    its, only, row_slot = record_at(job, FoldJob), scratch[:1], scratch[1:2]
    its.states, its.stride, its.slots = states, stride, row_slot.ctypes.data
    its.others, its.other_stride, its.other_slots = scratch[2:].ctypes.data, 0, only.ctypes.data
    only[0] = 0
    first = argument_of(call, 0).column
    for i in range(len(slots)):
        row_slot[0] = slots[i]
        for part in range(call.width):
            scratch[2 + part] = column_of(message, first + part)[start + i]
        if call_at(call.combine, job, 1) == RAISED:
            return False
    return True


@kernel
def is_updated(function: int, job: int, states: int, slots: Words) -> bool:
    """Call `init` or `update`, of arguments that the job has, for states that lie at one place; False if it raised."""
    its = record_at(job, FoldJob)
    its.states, its.stride, its.slots = states, 0, slots.ctypes.data
    return call_at(function, job, len(slots)) != RAISED


@kernel
def combine_slots(
    function: int, job: int, states: int, stride: int, slots: Words, others: int, other_stride: int, other_slots: Words
) -> bool:
    """Combine states with others, or take those out of them again; False if the function raised."""
    its = record_at(job, FoldJob)
    its.states, its.stride, its.slots = states, stride, slots.ctypes.data
    its.others, its.other_stride, its.other_slots = others, other_stride, other_slots.ctypes.data
    return call_at(function, job, len(slots)) != RAISED


@kernel
def finish_slots(
    function: int,
    job: int,
    states: int,
    stride: int,
    slots: Words,
    null: int,
    parameters: int,
    parameter_count: int,
    column: Words,
    also: int,
) -> bool:
    """Write results for slots; False if the function raised, or made what is no value, but for what it may `also` make,
    see `made_also`."""
    its = record_at(job, FoldJob)
    its.states, its.stride, its.slots = states, stride, slots.ctypes.data
    its.results, its.null = column.ctypes.data, null
    its.parameters, its.parameter_count = parameters, parameter_count
    made = call_at(function, job, len(slots))
    return made in (IS_VALUE, also)
