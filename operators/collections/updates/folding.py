"""What is made of a key's rows that are there at one time: one row of totals, or the rows themselves, or the first."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import Words, signed
from tokenring.operators.collections.updates.called import (
    TotalRule,
    add_called,
    called_total,
    room_of_called,
    start_called,
)
from tokenring.operators.collections.updates.exact_sums import (
    FLOAT_PARTS,
    INTEGER_PARTS,
    add_word,
    added,
    can_be_said,
    total_of,
)
from tokenring.operators.collections.updates.sorting import precedes
from tokenring.operators.collections.words import KindRow, comes_before, is_null
from tokenring.operators.folds import (
    CALLED,
    COUNT,
    MAX,
    MAX_FLOAT,
    MIN,
    MIN_FLOAT,
    SUM,
    SUM_FLOAT,
    SUM_UNSIGNED,
    mean_of,
)
from tokenring.operators.state import canonical_float

# Why a key is not done: there is no room, or it is not as it may be. FUNCTION_RAISED: of total 0, one more of the next.
DONE, NO_ROOM, NEGATIVE, OVERFLOW, TOO_MANY, FUNCTION_RAISED = range(6)
_EXTREMES = (MIN, MIN_FLOAT, MAX, MAX_FLOAT)


@kernel
def is_before(table: Words, row: int, first: int, time: Words) -> bool:
    """Whether the time of a row, in columns from `first` on, is less than or equal to `time`."""
    for at in range(len(time)):
        if table[first + at, row] > time[at]:
            return False
    return True


@kernel
def _is_sum(operation: int) -> bool:
    return operation in (SUM, SUM_UNSIGNED, SUM_FLOAT)


@kernel
def room_of_totals(totals: Sequence[TotalRule]) -> int:
    """How many words `totals_of_rows` and `totals_of_parts` work with."""
    most = 0
    for total in range(len(totals)):
        most = max(most, totals[total].column, totals[total].present)
    return max(_room_of_sums(totals) + room_of_called(totals), most + _width(totals))


@kernel
def _room_of_sums(totals: Sequence[TotalRule]) -> int:
    return len(totals) * (1 + _width(totals))


@kernel
def _width(totals: Sequence[TotalRule]) -> int:
    """How many parts the widest sum has."""
    width = INTEGER_PARTS
    for total in range(len(totals)):
        if totals[total].operation == SUM_FLOAT:
            width = FLOAT_PARTS
    return width


@kernel
def _finished(rule: TotalRule, word: int, present: int) -> tuple[int, bool]:
    """The word of a total, that of the mean where it is a sum for one, null where it is one of no value; and whether it
    is none that stands for null, nor a decimal of more digits than its kind has. present: how many values there are."""
    if rule.most != 0 and not -rule.most <= word <= rule.most:
        return word, False
    if (rule.present < 0 and rule.unit == 0) or rule.operation == COUNT:
        return word, True
    if present == 0:
        return rule.no_value, True
    if rule.unit != 0:
        mean = mean_of(rule.operation, word, rule.unit, present)
        return canonical_float(int(np.float64(mean).view(np.int64)), rule.no_value), True
    return word, word != rule.no_value


@kernel
def totals_of_rows(
    rows: Words, order: Words, values: int, time: Words, totals: Sequence[TotalRule], kinds: Sequence[KindRow],
    target: Words, room: Words,
) -> tuple[int, int]:  # fmt: skip
    """One row of totals over what is there of a key's rows at a time: (how many rows are made, DONE or what is wrong).
    order: the key's rows by their words; room: `room_of_totals` words."""
    last, there, i, width = len(rows) - 1, signed(0), 0, _width(totals)
    present, sums, called = room[: len(totals)], room[len(totals) :], room[_room_of_sums(totals) :]
    for at in range(_room_of_sums(totals)):
        room[at] = 0
    for total in range(len(totals)):
        target[total, 0] = 0
        if totals[total].operation == CALLED and not start_called(totals[total], called):
            return 0, FUNCTION_RAISED + total
    while i < len(order):
        first, count, carries = order[i], signed(0), signed(0)
        while i < len(order) and precedes(rows, order[i], rows, first, 0, values) == 0:
            if is_before(rows, order[i], values, time):
                count, carry = added(count, rows[last, order[i]])
                carries += carry
            i += 1
        if not can_be_said(count, carries):
            return 0, TOO_MANY
        if count < 0:
            return 0, NEGATIVE
        if count == 0:
            continue
        there, carry = added(there, count)
        if carry != 0:
            return 0, TOO_MANY
        for total in range(len(totals)):
            what, column = totals[total].operation, totals[total].column
            if what == COUNT and totals[total].present < 0:
                target[total, 0] += count
                continue
            word = rows[column, first]
            if is_null(kinds, column, word):
                continue
            if what == CALLED:
                if not add_called(rows, first, count, totals[total], called):
                    return 0, FUNCTION_RAISED + total
            elif what == COUNT:
                target[total, 0] += count
            elif what in _EXTREMES:
                is_greatest = what in (MAX, MAX_FLOAT)
                if present[total] == 0 or comes_before(kinds, column, word, target[total, 0], is_greatest):
                    target[total, 0] = word
            elif not add_word(what, sums, total * width, word, count):
                return 0, OVERFLOW
            present[total] += count
    if there == 0:
        return 0, DONE
    for total in range(len(totals)):
        if totals[total].operation == CALLED:
            target[total, 0], is_made = called_total(totals[total], called)
            if not is_made:
                return 0, FUNCTION_RAISED + total
        elif _is_sum(totals[total].operation):
            target[total, 0], is_in_range = total_of(totals[total].operation, sums, total * width)
            if not is_in_range:
                return 0, OVERFLOW
        target[total, 0], is_value = _finished(totals[total], target[total, 0], present[total])
        if not is_value:
            return 0, OVERFLOW
    target[len(totals), 0] = 1
    return 1, DONE


@kernel
def totals_of_parts(
    rows: Words, start: int, stop: int, time: Words, totals: Sequence[TotalRule], target: Words, room: Words
) -> tuple[int, int]:
    """One row of totals of which a key's rows, start..stop, are the parts: (how many rows are made, DONE or what is
    wrong). room: `room_of_totals` words."""
    last, sums = len(rows) - 1, room
    sums[:] = 0
    for row in range(start, stop):
        part, more = rows[0, row], rows[last, row]
        if part < len(sums) and is_before(rows, row, 1, time):
            sums[part], carry = added(sums[part], more)
            if carry != 0:
                return 0, TOO_MANY if part == 0 else OVERFLOW
    return totals_of_sums(sums, totals, target)


@kernel
def totals_of_sums(sums: Words, totals: Sequence[TotalRule], target: Words) -> tuple[int, int]:
    """One row of totals, of parts added up: (how many rows are made, DONE or what is wrong). sums: part 0, which
    counts rows, first; target: (at least totals + 1, at least 1)."""
    if sums[0] < 0 or (sums[0] == 0 and sums.any()):
        return 0, NEGATIVE
    for total in range(len(totals)):
        what, at = totals[total].operation, totals[total].column
        word = sums[at]
        if _is_sum(what):
            word, is_in_range = total_of(what, sums, at)
            if not is_in_range:
                return 0, OVERFLOW
        target[total, 0], is_value = _finished(totals[total], word, sums[max(totals[total].present, 0)])
        if not is_value:
            return 0, OVERFLOW
    target[len(totals), 0] = 1
    return (1 if sums[0] > 0 else 0), DONE


@kernel
def rows_there(rows: Words, order: Words, values: int, time: Words, most: int, target: Words) -> tuple[int, int]:
    """The rows that are there of a key's at a time, each once; where `most` is more than 0, the first so many, as often
    as they are there, where it is less, the last: (how many rows are made, DONE or what is wrong)."""
    last, made, left, i, stop = len(rows) - 1, 0, abs(most), 0, len(order)
    while i < stop and (most == 0 or left > 0):
        at = i if most >= 0 else stop - 1 - i
        first, count, carries = order[at], signed(0), signed(0)
        while i < stop:
            at = i if most >= 0 else stop - 1 - i
            if precedes(rows, order[at], rows, first, 0, values) != 0:
                break
            if is_before(rows, order[at], values, time):
                count, carry = added(count, rows[last, order[at]])
                carries += carry
            i += 1
        if not can_be_said(count, carries):
            return 0, TOO_MANY
        if count < 0:
            return 0, NEGATIVE
        if count > 0:
            for column in range(values):
                target[column, made] = rows[column, first]
            target[values, made] = 1 if most == 0 else min(count, left)
            left -= count
            made += 1
    return made, DONE
