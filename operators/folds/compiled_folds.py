"""Accumulators in compiled operators: the same kernels over the same words of state, told by tables what to fold."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import claim, column_of, point_to, rows_of, table_at, words_at, world_at
from tokenring.engine.raw import prefetch
from tokenring.operators.folds.called import (
    ARE_STATES,
    COMBINE,
    RETRACT,
    SCRATCH_ROWS,
    combine_rows,
    combine_slots,
    finish_slots,
    update_rows,
)
from tokenring.operators.folds.compiled_sets import fold_sets
from tokenring.operators.folds.compiled_tables import (
    ARRIVED,
    CALL_ROOM,
    CALL_SCRATCH,
    COLUMN,
    COUNTED,
    FINALIZE,
    FLIP,
    FOLD,
    HOW,
    INITIAL,
    JOB,
    KEEPS,
    NEUTRAL,
    NULL,
    NULLABLE,
    OPERATION,
    ORDER,
    PARAMETER_COUNT,
    PARAMETERS,
    PRESENT,
    RESULT_COUNT,
    RESULT_NULL,
    RESULT_WORDS,
    RESULTS,
    SET_COUNT,
    STATE,
    STATE_SLOTS,
    STATE_WIDTH,
    UNIT,
    WHERE,
    accumulated,
    call_of,
    folds_of,
    kept_by,
)
from tokenring.operators.folds.functions import AS_IT_IS, FINISHED, FLIPPED, KEPT, MEAN, MEAN_UNSIGNED
from tokenring.operators.folds.kernels import (
    CALLED,
    COUNT,
    DISTINCT,
    FIRST,
    MAX_FLOAT,
    MIN_FLOAT,
    PART,
    SUM,
    SUM_FLOAT,
    fold_floats,
    fold_runs,
    fold_words,
)
from tokenring.operators.state import LEAST

_FLOATS = (SUM_FLOAT, MIN_FLOAT, MAX_FLOAT)
_FEW = 256  # rows, the state of whose slots stays in the innermost cache while one fold after the other is made
_SMALL_STATE = 1 << 12  # slots, of which the state stays in a core's cache
NO_ROOM = -2
"""What `fold_block` says where there is no room for a value: it is to be called again then, with the same rows."""


@kernel
def _choose(fold, message, start, words, picked):  # type: ignore[no-untyped-def]
    """The words of rows from `start` on; in the place of those that a fold is not about what changes nothing."""
    neutral, flip = fold[NEUTRAL], LEAST if fold[FLIP] else 0
    for i in range(len(words)):
        picked[i] = words[i] ^ flip
    if fold[WHERE] >= 0:
        conditions = column_of(message, fold[WHERE])[start : start + len(words)]
        for i in range(len(words)):
            picked[i] = picked[i] if conditions[i] == 1 else neutral
    if fold[NULLABLE]:
        values = column_of(message, fold[COLUMN])[start : start + len(words)]
        for i in range(len(words)):
            picked[i] = picked[i] if values[i] != fold[NULL] else neutral


@kernel
def _comes_first(operation, order, before):  # type: ignore[no-untyped-def]
    """Whether FIRST, or LAST, takes a row of this order in the place of one with that."""
    return order < before if operation == FIRST else order >= before


@kernel
def _keep(fold, values, orders, slots, state, number, kept):  # type: ignore[no-untyped-def]
    """Fold rows for FIRST or LAST."""
    for i in range(len(slots)):
        if _comes_first(fold[OPERATION], orders[i], state[slots[i], number]):
            state[slots[i], number], kept[slots[i]] = orders[i], values[i]


@kernel
def _first_state(own, at, number):  # type: ignore[no-untyped-def]
    """Where the first slot's state is, from this fold's word on."""
    return own[at + STATE] + 8 * number


@kernel
def _call(own, at, number, message, start, slots):  # type: ignore[no-untyped-def]
    """Fold rows by functions; False if one of them raised."""
    call, states, stride = call_of(own, at, number), _first_state(own, at, number), 8 * own[at + STATE_WIDTH]
    if call[ARE_STATES]:
        room = words_at(own[at + CALL_SCRATCH], own[at + CALL_ROOM])
        return combine_rows(call, own[at + JOB], message, start, slots, states, stride, room)
    scratch = table_at(own[at + CALL_SCRATCH], SCRATCH_ROWS, own[at + CALL_ROOM])
    where = folds_of(own, at)[number, WHERE]
    return update_rows(call, own[at + JOB], where, message, start, slots, states, stride, scratch)


@kernel
def _call_for_slots(own, at, target_at, number, which, source, target):  # type: ignore[no-untyped-def]
    """`combine` or `retract` for slots of the state at `at` and slots of that at `target_at`; False if it raised."""
    return combine_slots(
        call_of(own, at, number)[which], own[at + JOB],
        _first_state(own, target_at, number), 8 * own[target_at + STATE_WIDTH], target,
        _first_state(own, at, number), 8 * own[at + STATE_WIDTH], source,
    )  # fmt: skip


@kernel
def _fold_rows(own, at, message, start, slots, words, picked):  # type: ignore[no-untyped-def]
    """`fold_block` of so few rows that their slots' state stays in the innermost cache."""
    folds, state = folds_of(own, at), accumulated(own, at)
    arrived, stop = own[at + ARRIVED], start + len(slots)
    own[at + ARRIVED] += len(slots)
    for number in range(len(folds)):
        fold, values = folds[number], slots
        operation = fold[OPERATION]
        if operation in (DISTINCT, PART):
            continue
        if operation == CALLED:
            if not _call(own, at, number, message, start, slots):
                return number
            continue
        is_chosen = fold[WHERE] >= 0 or fold[NULLABLE]
        if fold[COLUMN] >= 0 and operation != COUNT:
            values = column_of(message, fold[COLUMN])[start:stop]
        if fold[KEEPS]:
            orders = words
            if fold[ORDER] >= 0:
                orders = column_of(message, fold[ORDER])[start:stop]
            else:
                for i in range(len(slots)):
                    words[i] = arrived + i
            if is_chosen:
                _choose(fold, message, start, orders, picked)
                orders = picked
            _keep(fold, values, orders, slots, state, number, kept_by(own, at, number))
            continue
        if operation == COUNT and is_chosen:
            words[:] = 1
            values, operation = words, SUM
        if is_chosen or fold[FLIP]:
            _choose(fold, message, start, values, picked)
            values = picked
        if operation in _FLOATS:
            fold_floats(operation, slots, values.view(np.float64), state.view(np.float64), number)
        elif not fold_words(operation, slots, values, state, number):
            return number
    return -1


@kernel
def fold_block(own, at, message, start, slots, chosen, picked):  # type: ignore[no-untyped-def]
    """Fold rows of a message from `start` on into their slots. chosen, picked: room for as many words. Returns the fold
    whose sum left its range; NO_ROOM, with nothing folded but what may be folded again, or -1."""
    if own[at + SET_COUNT] > 0 and not fold_sets(own, at, message, start, slots):
        return NO_ROOM
    ask_for_state(own, at, slots[:_FEW])
    for first in range(0, len(slots), _FEW):
        stop = min(first + _FEW, len(slots))
        ask_for_state(own, at, slots[stop : stop + _FEW])
        some = stop - first
        wrong = _fold_rows(own, at, message, start + first, slots[first:stop], chosen[:some], picked[:some])
        if wrong >= 0:
            return wrong
    return -1


@kernel
def ask_for_state(own, at, slots):  # type: ignore[no-untyped-def]
    """Have the state of slots on its way from memory before it is looked at, if there is much of it."""
    if own[at + STATE_SLOTS] > _SMALL_STATE:
        width, state = 8 * own[at + STATE_WIDTH], own[at + STATE]
        for slot in slots:
            prefetch(state + slot * width)


@kernel
def fold_stretches(own, at, message, first, runs, starts, slots):  # type: ignore[no-untyped-def]
    """Fold runs of rows, each into one slot, by folds from number `first` on; see `Accumulators.take_runs`. Returns the
    fold whose sum left its range; -1 if none did."""
    folds, state = folds_of(own, at), accumulated(own, at)
    for number in range(first, len(folds)):
        values = slots
        if folds[number, COLUMN] >= 0:
            values = column_of(message, folds[number, COLUMN])
        if not fold_runs(folds[number, OPERATION], runs, starts, slots, values, state, number):
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
        if operation == PART:
            continue
        if operation == CALLED:
            if not _call_for_slots(own, at, target_at, number, COMBINE, source, target):
                return number
            continue
        if folds[number, KEEPS]:
            kept, others = kept_by(own, target_at, number), kept_by(own, at, number)
            for i in range(len(source)):
                order = state[source[i], number]
                if order != folds[number, INITIAL] and _comes_first(operation, order, merged[target[i], number]):
                    merged[target[i], number], kept[target[i]] = order, others[source[i]]
            continue
        gather(state[:, number], source, words)
        if operation in _FLOATS:
            fold_floats(operation, target, words.view(np.float64), merged.view(np.float64), number)
        elif not fold_words(SUM if operation == COUNT else operation, target, words, merged, number):
            return number
    return -1


@kernel
def take_away_slots(own, at, target_at, source, target):  # type: ignore[no-untyped-def]
    """Undo `merge_slots` of counts and sums of integers, and of functions that can; all of `target` are different.
    Returns the fold whose function raised; -1 if none did."""
    folds, state, merged = folds_of(own, at), accumulated(own, at), accumulated(own, target_at)
    for number in range(len(folds)):
        if folds[number, OPERATION] == CALLED:
            if not _call_for_slots(own, at, target_at, number, RETRACT, source, target):
                return number
        elif folds[number, OPERATION] != PART:
            for i in range(len(source)):
                merged[target[i], number] -= state[source[i], number]
    return -1


@kernel
def gather(words, slots, column):  # type: ignore[no-untyped-def]
    """Write the words of slots."""
    for i in range(len(slots)):
        column[i] = words[slots[i]]


@kernel
def _write_kept(own, at, fold, slots, column):  # type: ignore[no-untyped-def]
    """Write what a fold keeps at slots; null where that is nothing."""
    row, orders, kept = folds_of(own, at)[fold], accumulated(own, at)[:, fold], kept_by(own, at, fold)
    for i in range(len(slots)):
        column[i] = row[NULL] if orders[slots[i]] == row[INITIAL] else kept[slots[i]]


@kernel
def write_partials(own, at, slots, message, position):  # type: ignore[no-untyped-def]
    """Write the state of slots to a message's columns from `position` on, as `Accumulators.partials`; returns the next
    one."""
    folds, state = folds_of(own, at), accumulated(own, at)
    for fold in range(len(folds)):
        gather(state[:, fold], slots, column_of(message, position))
        position += 1
        if folds[fold, KEEPS]:
            _write_kept(own, at, fold, slots, column_of(message, position))
            position += 1
    return position


@kernel
def write_rows(world, own, at, message, reply, position):  # type: ignore[no-untyped-def]
    """Let columns of a bare message from `position` on be what `write_partials` writes of each row alone, of folds that
    keep no values; what is a column that came is passed on."""
    folds, rows = folds_of(own, at), rows_of(message)
    for number in range(len(folds)):
        fold = folds[number]
        is_chosen = fold[WHERE] >= 0 or fold[NULLABLE]
        if fold[OPERATION] != COUNT and not is_chosen and not fold[FLIP]:
            point_to(reply, position + number, column_of(message, fold[COLUMN]).ctypes.data)
            continue
        made = words_at(claim(world_at(world), 8 * rows), rows)
        point_to(reply, position + number, made.ctypes.data)
        if fold[OPERATION] != COUNT:
            _choose(fold, message, 0, column_of(message, fold[COLUMN]), made)
            continue
        made[:] = 1
        if is_chosen:
            _choose(fold, message, 0, made, made)


@kernel
def _divide(how, state, fold, counted, unit, slots, column):  # type: ignore[no-untyped-def]
    means, floats = column.view(np.float64), state.view(np.float64)
    for i in range(len(slots)):
        slot = slots[i]
        count = np.float64(state[slot, counted])
        if how == MEAN:
            total = np.float64(state[slot, fold])
        elif how == MEAN_UNSIGNED:
            total = np.float64(np.uint64(state[slot, fold]))
        else:
            total = floats[slot, fold]
        means[i] = total / np.float64(unit) / count if count > 0 else np.nan


@kernel
def write_results(own, at, slots, message, first):  # type: ignore[no-untyped-def]
    """Write the results for slots to a message's columns from number `first` on."""
    ask_for_state(own, at, slots[:_FEW])
    for start in range(0, len(slots), _FEW):
        stop = min(start + _FEW, len(slots))
        ask_for_state(own, at, slots[stop : stop + _FEW])
        _write_some(own, at, slots[start:stop], message, first, start)


@kernel
def _write_some(own, at, slots, message, first, start):  # type: ignore[no-untyped-def]
    state = accumulated(own, at)
    results = table_at(own[at + RESULTS], own[at + RESULT_COUNT], RESULT_WORDS)
    for number in range(len(results)):
        result, column = results[number], column_of(message, first + number)[start : start + len(slots)]
        words = state[:, result[FOLD]]
        if result[HOW] == KEPT:
            _write_kept(own, at, result[FOLD], slots, column)
        elif result[HOW] == FINISHED:
            finish_slots(
                result[FINALIZE], own[at + JOB], _first_state(own, at, result[FOLD]), 8 * own[at + STATE_WIDTH], slots,
                result[RESULT_NULL], result[PARAMETERS], result[PARAMETER_COUNT], column,
            )  # fmt: skip
        elif result[HOW] == AS_IT_IS:
            gather(words, slots, column)
        elif result[HOW] == FLIPPED:
            for i in range(len(slots)):
                column[i] = words[slots[i]] ^ LEAST
        else:
            _divide(result[HOW], state, result[FOLD], result[COUNTED], result[UNIT], slots, column)
        if result[PRESENT] >= 0:
            for i in range(len(slots)):
                if state[slots[i], result[PRESENT]] == 0:
                    column[i] = result[RESULT_NULL]
