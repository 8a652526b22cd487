"""Accumulators in compiled operators: the same kernels over the same words of state, told by tables what to fold."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import column_of, table_at
from tokenring.operators.folds.compiled_sets import fold_sets
from tokenring.operators.folds.compiled_tables import (
    ARRIVED,
    COLUMN,
    COUNTED,
    FLIP,
    FOLD,
    HOW,
    INITIAL,
    KEEPS,
    NULL,
    NULLABLE,
    OPERATION,
    ORDER,
    PRESENT,
    RESULT_COUNT,
    RESULT_NULL,
    RESULT_WORDS,
    RESULTS,
    SET_COUNT,
    WHERE,
    accumulated,
    folds_of,
    kept_by,
)
from tokenring.operators.folds.functions import AS_IT_IS, FLIPPED, KEPT, MEAN, MEAN_UNSIGNED
from tokenring.operators.folds.kernels import (
    COUNT,
    DISTINCT,
    FIRST,
    MAX_FLOAT,
    MIN_FLOAT,
    SUM,
    SUM_FLOAT,
    fold_floats,
    fold_runs,
    fold_words,
)
from tokenring.operators.state import LEAST

_FLOATS = (SUM_FLOAT, MIN_FLOAT, MAX_FLOAT)
NO_ROOM = -2
"""What `fold_block` says where there is no room for a value: it is to be called again then, with the same rows."""


@kernel
def _choose(fold, message, start, slots, values, chosen, picked):  # type: ignore[no-untyped-def]
    """The rows that a fold is about, as it wants their values: slots and values. Returns how many."""
    found = 0
    conditions = values
    if fold[WHERE] >= 0:
        conditions = column_of(message, fold[WHERE])[start : start + len(slots)]
    flip = LEAST if fold[FLIP] else 0
    for i in range(len(slots)):
        if fold[WHERE] >= 0 and conditions[i] != 1:
            continue
        if fold[NULLABLE] and values[i] == fold[NULL]:
            continue
        chosen[found], picked[found] = slots[i], values[i] ^ flip
        found += 1
    return found


@kernel
def _comes_first(operation, order, before):  # type: ignore[no-untyped-def]
    """Whether FIRST, or LAST, takes a row of this order in the place of one with that."""
    return order < before if operation == FIRST else order >= before


@kernel
def _keep(fold, message, start, slots, arrived, state, kept):  # type: ignore[no-untyped-def]
    """Fold rows from `start` on for FIRST or LAST; arrived: the order of the first of them, if they have no other."""
    values = column_of(message, fold[COLUMN])[start : start + len(slots)]
    conditions, orders = values, values
    if fold[WHERE] >= 0:
        conditions = column_of(message, fold[WHERE])[start : start + len(slots)]
    if fold[ORDER] >= 0:
        orders = column_of(message, fold[ORDER])[start : start + len(slots)]
    for i in range(len(slots)):
        if (fold[WHERE] >= 0 and conditions[i] != 1) or (fold[NULLABLE] and values[i] == fold[NULL]):
            continue
        order = orders[i] if fold[ORDER] >= 0 else arrived + i
        if _comes_first(fold[OPERATION], order, state[slots[i]]):
            state[slots[i]], kept[slots[i]] = order, values[i]


@kernel
def fold_block(own, at, message, start, slots, chosen, picked):  # type: ignore[no-untyped-def]
    """Fold rows of a message from `start` on into their slots. chosen, picked: room for as many words. Returns the fold
    whose sum left its range; NO_ROOM, with nothing folded but what may be folded again, or -1."""
    if own[at + SET_COUNT] > 0 and not fold_sets(own, at, message, start, slots):
        return NO_ROOM
    folds, state = folds_of(own, at), accumulated(own, at)
    own[at + ARRIVED] += len(slots)
    for number in range(len(folds)):
        fold, where, values = folds[number], slots, slots
        if fold[OPERATION] == DISTINCT:
            continue
        if fold[KEEPS]:
            arrived = own[at + ARRIVED] - len(slots)
            _keep(fold, message, start, slots, arrived, state[number], kept_by(own, at, number))
            continue
        if fold[COLUMN] >= 0:
            values = column_of(message, fold[COLUMN])[start : start + len(slots)]
        if fold[WHERE] >= 0 or fold[NULLABLE] or fold[FLIP]:
            found = _choose(fold, message, start, slots, values, chosen, picked)
            where, values = chosen[:found], picked[:found]
        operation = fold[OPERATION]
        if operation in _FLOATS:
            fold_floats(operation, where, values.view(np.float64), state[number].view(np.float64))
        elif not fold_words(operation, where, values, state[number]):
            return number
    return -1


@kernel
def fold_stretches(own, at, message, first, runs, starts, slots):  # type: ignore[no-untyped-def]
    """Fold runs of rows, each into one slot, by folds from number `first` on; see `Accumulators.take_runs`. Returns the
    fold whose sum left its range; -1 if none did."""
    folds, state = folds_of(own, at), accumulated(own, at)
    for number in range(first, len(folds)):
        values = slots
        if folds[number, COLUMN] >= 0:
            values = column_of(message, folds[number, COLUMN])
        if not fold_runs(folds[number, OPERATION], runs, starts, slots, values, state[number]):
            return number
    return -1


@kernel
def merge_slots(own, at, target_at, source, target, words):  # type: ignore[no-untyped-def]
    """Fold slots of the state at `at` into slots of that at `target_at`, of the same folds. words: room for as many.
    Returns the fold whose sum left its range; -1 if none did."""
    folds, state, merged = folds_of(own, at), accumulated(own, at), accumulated(own, target_at)
    words = words[: len(source)]
    for number in range(len(folds)):
        operation = folds[number, OPERATION]
        if folds[number, KEEPS]:
            kept, others = kept_by(own, target_at, number), kept_by(own, at, number)
            for i in range(len(source)):
                order = state[number, source[i]]
                if order != folds[number, INITIAL] and _comes_first(operation, order, merged[number, target[i]]):
                    merged[number, target[i]], kept[target[i]] = order, others[source[i]]
            continue
        gather(state[number], source, words)
        if operation in _FLOATS:
            fold_floats(operation, target, words.view(np.float64), merged[number].view(np.float64))
        elif not fold_words(SUM if operation == COUNT else operation, target, words, merged[number]):
            return number
    return -1


@kernel
def take_away_slots(own, at, target_at, source, target):  # type: ignore[no-untyped-def]
    """Undo `merge_slots` of counts and sums of integers; all of `target` are different."""
    state, merged = accumulated(own, at), accumulated(own, target_at)
    for number in range(len(state)):
        for i in range(len(source)):
            merged[number, target[i]] -= state[number, source[i]]


@kernel
def gather(words, slots, column):  # type: ignore[no-untyped-def]
    """Write the words of slots."""
    for i in range(len(slots)):
        column[i] = words[slots[i]]


@kernel
def _write_kept(own, at, fold, slots, column):  # type: ignore[no-untyped-def]
    """Write what a fold keeps at slots; null where that is nothing."""
    row, orders, kept = folds_of(own, at)[fold], accumulated(own, at)[fold], kept_by(own, at, fold)
    for i in range(len(slots)):
        column[i] = row[NULL] if orders[slots[i]] == row[INITIAL] else kept[slots[i]]


@kernel
def write_partials(own, at, slots, message, position):  # type: ignore[no-untyped-def]
    """Write the state of slots to a message's columns from `position` on, as `Accumulators.partials`; returns the next
    one."""
    folds, state = folds_of(own, at), accumulated(own, at)
    for fold in range(len(folds)):
        gather(state[fold], slots, column_of(message, position))
        position += 1
        if folds[fold, KEEPS]:
            _write_kept(own, at, fold, slots, column_of(message, position))
            position += 1
    return position


@kernel
def _divide(how, totals, counts, slots, column):  # type: ignore[no-untyped-def]
    means = column.view(np.float64)
    floats = totals.view(np.float64)
    for i in range(len(slots)):
        slot = slots[i]
        count = np.float64(counts[slot])
        if how == MEAN:
            total = np.float64(totals[slot])
        elif how == MEAN_UNSIGNED:
            total = np.float64(np.uint64(totals[slot]))
        else:
            total = floats[slot]
        means[i] = total / count if count > 0 else np.nan


@kernel
def write_results(own, at, slots, message, first):  # type: ignore[no-untyped-def]
    """Write the results for slots to a message's columns from number `first` on."""
    state = accumulated(own, at)
    results = table_at(own[at + RESULTS], own[at + RESULT_COUNT], RESULT_WORDS)
    for number in range(len(results)):
        result, column = results[number], column_of(message, first + number)
        words = state[result[FOLD]]
        if result[HOW] == KEPT:
            _write_kept(own, at, result[FOLD], slots, column)
        elif result[HOW] == AS_IT_IS:
            gather(words, slots, column)
        elif result[HOW] == FLIPPED:
            for i in range(len(slots)):
                column[i] = words[slots[i]] ^ LEAST
        else:
            _divide(result[HOW], words, state[result[COUNTED]], slots, column)
        if result[PRESENT] >= 0:
            present = state[result[PRESENT]]
            for i in range(len(slots)):
                if present[slots[i]] == 0:
                    column[i] = result[RESULT_NULL]
