"""The kernels of aggregation: fold columns into words of state by slot, or by run of rows with one slot."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, float64, int64, kernel, readonly, void
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.state import LEAST, MOST, NAN, overflows

COUNT, SUM, SUM_UNSIGNED, SUM_FLOAT, MIN, MAX, MIN_FLOAT, MAX_FLOAT, FIRST, LAST, DISTINCT, \
    CALLED, PART = range(13)  # fmt: skip
"""What a word of state is: see functions.py. CALLED: the first word of what functions keep; PART: one behind it."""
BLOCK = 1024
"""Rows that are looked at together: they stay in the innermost cache meanwhile."""
INITIAL = {MIN: MOST, MAX: LEAST, FIRST: MOST, LAST: LEAST, MIN_FLOAT: NAN, MAX_FLOAT: NAN}
"""What a word is before any row, if not 0; what is folded changes nothing where it is that."""
_SMALL = 2**52  # sums of a block of numbers below this stay in range
_FLOATS = readonly(float64)


@kernel(boolean(int64, COLUMN, COLUMN, TABLE, int64))
def fold_words(operation: int, slots: Words, values: Words, state: Words, number: int) -> bool:
    """Fold int64 values (uint64 bits for SUM_UNSIGNED) into state[slots, number]; False if a sum left its range, and
    the state means nothing then. COUNT looks at no values."""
    wrong = unsigned(0)
    if operation == SUM:
        for i in range(len(slots)):
            before, value = unsigned(state[slots[i], number]), unsigned(values[i])
            total = before + value  # unsigned numbers are defined to wrap
            wrong |= (before ^ total) & (value ^ total)
            state[slots[i], number] = signed(total)
        return wrong >> unsigned(63) == unsigned(0)
    if operation == SUM_UNSIGNED:
        for i in range(len(slots)):
            before, value = unsigned(state[slots[i], number]), unsigned(values[i])
            total = before + value
            wrong |= unsigned(total < before)
            state[slots[i], number] = signed(total)
        return wrong == unsigned(0)
    if operation == MIN:
        for i in range(len(slots)):
            state[slots[i], number] = min(state[slots[i], number], values[i])
    elif operation == MAX:
        for i in range(len(slots)):
            state[slots[i], number] = max(state[slots[i], number], values[i])
    else:
        for i in range(len(slots)):
            state[slots[i], number] += 1
    return True


@kernel(void(int64, COLUMN, _FLOATS, float64[:, ::1], int64))
def fold_floats(operation: int, slots: Words, values: Words, state: Words, number: int) -> None:
    """Fold float64 values into state[slots, number]. The least and greatest pass over NaN, which is what they start
    with."""
    if operation == SUM_FLOAT:
        for i in range(len(slots)):
            state[slots[i], number] += values[i]
    elif operation == MIN_FLOAT:
        for i in range(len(slots)):
            before = state[slots[i], number]
            if values[i] < before or before != before:
                state[slots[i], number] = values[i]
    else:
        for i in range(len(slots)):
            before = state[slots[i], number]
            if values[i] > before or before != before:
                state[slots[i], number] = values[i]


@kernel
def _least(values: Words) -> int:
    best = values[0]
    for i in range(len(values)):
        best = min(best, values[i])
    return best


@kernel
def _greatest(values: Words) -> int:
    best = values[0]
    for i in range(len(values)):
        best = max(best, values[i])
    return best


@kernel
def _total(values: Words) -> int:
    total = 0
    for i in range(len(values)):
        total += values[i]
    return total


@kernel
def _fold_stretch(operation: int, values: Words, start: int, stop: int, state: Words, slot: int, number: int) -> bool:
    """Fold rows start .. stop - 1 into one slot, for COUNT, SUM, MIN and MAX: loops over whole arrays, so that LLVM
    vectorises them. False if a sum left its range."""
    if operation == COUNT:
        state[slot, number] += stop - start
    elif operation == MIN:
        state[slot, number] = min(state[slot, number], _least(values[start:stop]))
    elif operation == MAX:
        state[slot, number] = max(state[slot, number], _greatest(values[start:stop]))
    else:
        while start < stop:
            block = values[start : min(start + BLOCK, stop)]
            start += len(block)
            if _least(block) > -_SMALL and _greatest(block) < _SMALL:
                total = _total(block)
                if overflows(state[slot, number], total):
                    return False
                state[slot, number] += total
                continue
            for value in block:
                if overflows(state[slot, number], value):
                    return False
                state[slot, number] += value
    return True


@kernel(boolean(int64, int64, WORDS, WORDS, COLUMN, TABLE, int64))
def fold_runs(operation: int, runs: int, starts: Words, slots: Words, values: Words, state: Words, number: int) -> bool:
    """Fold rows starts[r] .. starts[r + 1] - 1 into state[slots[r], number], for COUNT, SUM, MIN and MAX. False if a
    sum left its range."""
    for r in range(runs):
        if not _fold_stretch(operation, values, starts[r], starts[r + 1], state, slots[r], number):
            return False
    return True


@kernel
def mean_of(operation: int, word: int, unit: int, count: int) -> float:
    """The word of a sum divided by how many values it is of, and by how many of its units make 1; NaN of none."""
    total = np.float64(word)
    if operation == SUM_UNSIGNED:
        total = np.float64(unsigned(word))
    elif operation == SUM_FLOAT:
        total = np.int64(word).view(np.float64)
    return total / np.float64(unit) / np.float64(count) if count > 0 else np.nan


@kernel
def bounds(values: Words) -> tuple[int, int]:
    """The least and the greatest; a loop over the whole array, so that LLVM vectorises it."""
    low, high = values[0], values[0]
    for i in range(len(values)):
        low = min(low, values[i])
        high = max(high, values[i])
    return low, high


@kernel(int64(COLUMN, int64, int64, int64, COLUMN, TABLE, int64))
def fold_inside(times: Words, start: int, end: int, operation: int, values: Words, state: Words, slot: int) -> int:
    """Fold blocks of rows into one slot by the first fold, as `fold_runs` does, as long as all times of a block are in
    start .. end - 1. Returns how many rows were folded; -1 if a sum left its range."""
    at = 0
    while at < len(times):
        stop = min(at + BLOCK, len(times))
        low, high = bounds(times[at:stop])
        if low < start or high >= end:
            break
        if not _fold_stretch(operation, values, at, stop, state, slot, 0):
            return -1
        at = stop
    return at


@kernel(int64(COLUMN, WORDS, int64, WORDS))
def distinct_slots(slots: Words, stamps: Words, stamp: int, found: Words) -> int:
    """Write each slot once, in the order of first appearance; stamps[slots] are made `stamp`. Returns how many."""
    count = 0
    for i in range(len(slots)):
        if stamps[slots[i]] != stamp:
            stamps[slots[i]] = stamp
            found[count] = slots[i]
            count += 1
    return count
