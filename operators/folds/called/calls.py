"""Calls of aggregates' functions in compiled operators: for rows of a message, for slots, for results."""


from tokenring.engine import kernel
from tokenring.engine.compiled import RAISED, call_at, column_of, words_at
from tokenring.operators.folds.called.job import (
    FIRST,
    JOB_WORDS,
    NULL,
    OTHER_SLOTS,
    OTHER_STRIDE,
    OTHERS,
    PARAMETER_COUNT,
    PARAMETERS,
    RESULTS,
    SLOTS,
    STATES,
    STRIDE,
)
from tokenring.operators.folds.called.takes import AS_IT_IS, take_argument

# Words of a call: the entries' addresses, how many words a state is; whether rows are states, in columns from COLUMN
# on; else the arguments: how many, and of each COLUMN, TAKES, NULLABLE and NULL.
UPDATE, COMBINE, RETRACT, WIDTH, ARE_STATES, ARGUMENTS = range(6)
COLUMN, TAKES, NULLABLE, NULL_WORD, ARGUMENT_WORDS = range(5)
MOST_ARGUMENTS = 2
CALL_WORDS = ARGUMENTS + 1 + MOST_ARGUMENTS * ARGUMENT_WORDS
_SLOTS, _ROWS, _TAKEN = range(3)
SCRATCH_ROWS = _TAKEN + MOST_ARGUMENTS


@kernel
def _argument(call, which, word):  # type: ignore[no-untyped-def]
    return call[ARGUMENTS + 1 + which * ARGUMENT_WORDS + word]


@kernel
def _chosen(call, where, message, start, slots, scratch):  # type: ignore[no-untyped-def]
    """Write the rows that it is about, from 0, and their slots; how many there are, -1 for all."""
    rows = len(slots)
    is_chosen, is_any = scratch[_ROWS][:rows], where >= 0
    is_chosen[:] = 1
    if where >= 0:
        conditions = column_of(message, where)
        for i in range(rows):
            is_chosen[i] = conditions[start + i] == 1
    for which in range(call[ARGUMENTS]):
        if _argument(call, which, NULLABLE):
            is_any = True
            null, words = _argument(call, which, NULL_WORD), column_of(message, _argument(call, which, COLUMN))
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
def update_rows(call, job, where, message, start, slots, states, stride, scratch):  # type: ignore[no-untyped-def]
    """Fold rows of a message from `start` on into their slots; False if a function raised. states, stride: as of a
    job; where: a column of bool, or -1; scratch: (SCRATCH_ROWS, at least as many rows)."""
    count = _chosen(call, where, message, start, slots, scratch)
    is_all = count < 0
    if is_all:
        count = len(slots)
    words = words_at(job, JOB_WORDS)
    words[STATES], words[STRIDE] = states, stride
    words[SLOTS] = slots.ctypes.data if is_all else scratch[_SLOTS].ctypes.data
    for which in range(call[ARGUMENTS]):
        column = column_of(message, _argument(call, which, COLUMN))[start : start + len(slots)]
        takes, taken = _argument(call, which, TAKES), scratch[_TAKEN + which][:count]
        words[FIRST + which] = taken.ctypes.data
        if not is_all:
            for i in range(count):
                taken[i] = column[scratch[_ROWS, i]]
            take_argument(takes, taken, taken)
        elif takes == AS_IT_IS:
            words[FIRST + which] = column.ctypes.data
        else:
            take_argument(takes, column, taken)
    return call_at(call[UPDATE], job, count) != RAISED


@kernel
def combine_rows(call, job, message, start, slots, states, stride, scratch):  # type: ignore[no-untyped-def]
    """The same of rows that are states; scratch: room for one, as words."""
    words, only, row_slot = words_at(job, JOB_WORDS), scratch[:1], scratch[1:2]
    words[STATES], words[STRIDE], words[SLOTS] = states, stride, row_slot.ctypes.data
    words[OTHERS], words[OTHER_STRIDE], words[OTHER_SLOTS] = scratch[2:].ctypes.data, 0, only.ctypes.data
    only[0] = 0
    first = _argument(call, 0, COLUMN)
    for i in range(len(slots)):
        row_slot[0] = slots[i]
        for part in range(call[WIDTH]):
            scratch[2 + part] = column_of(message, first + part)[start + i]
        if call_at(call[COMBINE], job, 1) == RAISED:
            return False
    return True


@kernel
def is_updated(function, job, states, slots):  # type: ignore[no-untyped-def]
    """Call `init` or `update`, of arguments that the job has, for states that lie at one place; False if it raised."""
    words = words_at(job, JOB_WORDS)
    words[STATES], words[STRIDE], words[SLOTS] = states, 0, slots.ctypes.data
    return call_at(function, job, len(slots)) != RAISED


@kernel
def combine_slots(function, job, states, stride, slots, others, other_stride, other_slots):  # type: ignore[no-untyped-def]
    """Combine states with others, or take those out of them again; False if the function raised."""
    words = words_at(job, JOB_WORDS)
    words[STATES], words[STRIDE], words[SLOTS] = states, stride, slots.ctypes.data
    words[OTHERS], words[OTHER_STRIDE], words[OTHER_SLOTS] = others, other_stride, other_slots.ctypes.data
    return call_at(function, job, len(slots)) != RAISED


@kernel
def finish_slots(function, job, states, stride, slots, null, parameters, parameter_count, column):  # type: ignore[no-untyped-def]
    """Write results for slots; null for all of them where the function raised."""
    words = words_at(job, JOB_WORDS)
    words[STATES], words[STRIDE], words[SLOTS] = states, stride, slots.ctypes.data
    words[RESULTS], words[NULL] = column.ctypes.data, null
    words[PARAMETERS], words[PARAMETER_COUNT] = parameters, parameter_count
    if call_at(function, job, len(slots)) == RAISED:
        column[:] = null
