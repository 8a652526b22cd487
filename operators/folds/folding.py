"""Folding: rows into state by slot, slots into slots, and results out of them, as tables say."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    Words,
    column_of,
    lease,
    point_to,
    record_at,
    records_at,
    rows_of,
    signed,
    table_at,
    words_at,
    world_at,
)
from tokenring.engine.raw import prefetch
from tokenring.operators.folds.called import SCRATCH_ROWS, combine_rows, combine_slots, finish_slots, update_rows
from tokenring.operators.folds.distinct_values import fold_sets, merge_sets
from tokenring.operators.folds.fold_records import FoldRow, Folds, ResultRow, accumulated, call_of, folds_of, kept_by
from tokenring.operators.folds.functions import AS_IT_IS, FINISHED, FLIPPED, KEPT
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
    mean_of,
)
from tokenring.operators.state import LEAST, TextStore, bytes_to_keep, gather, has_room_for_texts, keep_text

_FLOATS = (SUM_FLOAT, MIN_FLOAT, MAX_FLOAT)
_FEW = 256  # rows, the state of whose slots stays in the innermost cache while one fold after the other is made
_SMALL_STATE = 1 << 12  # slots, of which the state stays in a core's cache
NO_ROOM = -2
"""What `fold_block` and `merge_slots` say where there is no room: they are to be called again then, with the same."""
_NOT_YET = -2
"""What stands for a text that is kept until all rows are folded, less its row; no text's word, nor null's, is as low.
"""


@kernel
def _choose(fold: FoldRow, message: int, start: int, words: Words, picked: Words) -> None:
    """The words of rows from `start` on; in the place of those that a fold is not about what changes nothing."""
    neutral, flip = fold.initial, LEAST if fold.flip else 0
    for i in range(len(words)):
        picked[i] = words[i] ^ flip
    if fold.where >= 0:
        conditions = column_of(message, fold.where)[start : start + len(words)]
        for i in range(len(words)):
            picked[i] = picked[i] if conditions[i] == 1 else neutral
    if fold.nullable:
        values = column_of(message, fold.column)[start : start + len(words)]
        for i in range(len(words)):
            picked[i] = picked[i] if values[i] != fold.null else neutral


@kernel
def _has_null(values: Words, orders: Words, fold: FoldRow) -> bool:
    """Whether a row that is chosen has the number that stands for null."""
    found = False
    for i in range(len(orders)):
        found |= values[i] == fold.null and orders[i] != fold.initial
    return found


@kernel
def _comes_first(operation: int, order: int, before: int) -> bool:
    """Whether FIRST, or LAST, takes a row of this order in the place of one with that."""
    return order < before if operation == FIRST else order >= before


@kernel
def _keep(fold: FoldRow, values: Words, orders: Words, slots: Words, state: Words, number: int, kept: Words) -> None:
    """Fold rows for FIRST or LAST."""
    if fold.texts == 0:
        for i in range(len(slots)):
            if _comes_first(fold.operation, orders[i], state[slots[i], number]):
                state[slots[i], number], kept[slots[i]] = orders[i], values[i]
        return
    for i in range(len(slots)):
        if _comes_first(fold.operation, orders[i], state[slots[i], number]):
            state[slots[i], number], kept[slots[i]] = orders[i], _NOT_YET - i
    store = record_at(fold.texts, TextStore)
    for i in range(len(slots)):
        if kept[slots[i]] == _NOT_YET - i:
            kept[slots[i]] = keep_text(store, values[i])


@kernel
def _has_room_for_kept(world: int, folded: Folds, message: int, start: int, stop: int) -> bool:
    """Whether the texts of these rows can be kept."""
    folds, texts, size_bytes = folds_of(folded), 0, 0
    for number in range(len(folds)):
        fold = folds[number]
        if fold.texts != 0:
            texts = fold.texts
            size_bytes += bytes_to_keep(record_at(texts, TextStore), column_of(message, fold.column)[start:stop])
    return has_room_for_texts(world, record_at(texts, TextStore), size_bytes)


@kernel
def _first_state(folded: Folds, number: int) -> int:
    """Where the first slot's state is, from this fold's word on."""
    return folded.state + 8 * number


@kernel
def _call(folded: Folds, number: int, message: int, start: int, slots: Words) -> bool:
    """Fold rows by functions; False if one of them raised."""
    call, states, stride = call_of(folded, number), _first_state(folded, number), 8 * folded.width
    if call.are_states:
        room = words_at(folded.call_scratch, folded.call_room)
        return combine_rows(call, folded.job, message, start, slots, states, stride, room)
    scratch = table_at(folded.call_scratch, SCRATCH_ROWS, folded.call_room)
    where = folds_of(folded)[number].where
    return update_rows(call, folded.job, where, message, start, slots, states, stride, scratch)


@kernel
def _call_for_slots(folded: Folds, merged_in: Folds, number: int, function: int, source: Words, target: Words) -> bool:
    """Call a function for slots of one state, and of another; False if it raised."""
    return combine_slots(
        function, folded.job,
        _first_state(merged_in, number), 8 * merged_in.width, target,
        _first_state(folded, number), 8 * folded.width, source,
    )  # fmt: skip


@kernel
def _fold_rows(folded: Folds, message: int, start: int, slots: Words, words: Words, picked: Words) -> int:
    """`fold_block` of so few rows that their slots' state stays in the innermost cache."""
    folds, state = folds_of(folded), accumulated(folded)
    arrived, stop = folded.arrived, start + len(slots)
    folded.arrived += len(slots)
    for number in range(len(folds)):
        fold, values = folds[number], slots
        operation = fold.operation
        if operation in (DISTINCT, PART):
            continue
        if operation == CALLED:
            if not _call(folded, number, message, start, slots):
                return number
            continue
        is_chosen = fold.where >= 0 or fold.nullable
        if fold.column >= 0 and operation != COUNT:
            values = column_of(message, fold.column)[start:stop]
        if fold.keeps:
            orders = words
            if fold.order >= 0:
                orders = column_of(message, fold.order)[start:stop]
            else:
                for i in range(len(slots)):
                    words[i] = arrived + i
            if is_chosen:
                _choose(fold, message, start, orders, picked)
                orders = picked
                if fold.exact and _has_null(values, orders, fold):
                    return number
            _keep(fold, values, orders, slots, state, number, kept_by(folded, number))
            continue
        if operation == COUNT and is_chosen:
            words[:] = 1
            values, operation = words, SUM
        if is_chosen or fold.flip:
            _choose(fold, message, start, values, picked)
            values = picked
        if operation in _FLOATS:
            fold_floats(operation, slots, values.view(np.float64), state.view(np.float64), number)
        elif not fold_words(operation, slots, values, state, number):
            return number
    return -1


@kernel
def fold_block(
    world: int, folded: Folds, message: int, start: int, slots: Words, chosen: Words, picked: Words
) -> int:
    """Fold rows of a message from `start` on into their slots. chosen, picked: room for as many words. Returns the fold
    whose sum left its range; NO_ROOM, with nothing folded but what may be folded again, or -1."""
    if folded.text_count > 0 and not _has_room_for_kept(world, folded, message, start, start + len(slots)):
        return NO_ROOM
    if folded.set_count > 0 and not fold_sets(world, folded, message, start, slots):
        return NO_ROOM
    ask_for_state(folded, slots[:_FEW])
    for first in range(0, len(slots), _FEW):
        stop = min(first + _FEW, len(slots))
        ask_for_state(folded, slots[stop : stop + _FEW])
        some = stop - first
        wrong = _fold_rows(folded, message, start + first, slots[first:stop], chosen[:some], picked[:some])
        if wrong >= 0:
            return wrong
    return -1


@kernel
def ask_for_state(folded: Folds, slots: Words) -> None:
    """Have the state of slots on its way from memory before it is looked at, if there is much of it."""
    if folded.slots > _SMALL_STATE:
        width, state = 8 * folded.width, folded.state
        for slot in slots:
            prefetch(state + slot * width)


@kernel
def fold_stretches(folded: Folds, message: int, first: int, runs: int, starts: Words, slots: Words) -> int:
    """Fold runs of rows, starts[r] .. starts[r + 1] - 1, each into slots[r], by folds from number `first` on, of state
    that is `quick`. Returns the fold whose sum left its range; -1 if none did."""
    folds, state = folds_of(folded), accumulated(folded)
    for number in range(first, len(folds)):
        values = slots
        if folds[number].column >= 0:
            values = column_of(message, folds[number].column)
        if not fold_runs(folds[number].operation, runs, starts, slots, values, state, number):
            return number
    return -1


@kernel
def merge_slots(folded: Folds, merged_in: Folds, source: Words, target: Words, words: Words) -> int:
    """Fold slots of one state into slots of another, whose texts stay where they are, or into others of its own. words:
    room for as many. Returns the fold whose sum left its range; NO_ROOM, with nothing folded but what may be folded
    again, or -1."""
    if folded.set_count > 0 and not merge_sets(folded, merged_in, source, target):
        return NO_ROOM
    folds, state, merged = folds_of(folded), accumulated(folded), accumulated(merged_in)
    words = words[: len(source)]
    for number in range(len(folds)):
        operation = folds[number].operation
        if operation in (DISTINCT, PART):
            continue
        if operation == CALLED:
            if not _call_for_slots(folded, merged_in, number, call_of(folded, number).combine, source, target):
                return number
            continue
        if folds[number].keeps:
            kept, others = kept_by(merged_in, number), kept_by(folded, number)
            for i in range(len(source)):
                order = state[source[i], number]
                if order != folds[number].initial and _comes_first(operation, order, merged[target[i], number]):
                    merged[target[i], number], kept[target[i]] = order, others[source[i]]
            continue
        gather(state[:, number], source, words)
        if operation in _FLOATS:
            fold_floats(operation, target, words.view(np.float64), merged.view(np.float64), number)
        elif not fold_words(SUM if operation == COUNT else operation, target, words, merged, number):
            return number
    return -1


@kernel
def take_away_slots(folded: Folds, merged_in: Folds, source: Words, target: Words) -> int:
    """Undo `merge_slots` of counts and sums of integers, and of functions that can; all of `target` are different.
    Returns the fold whose function raised; -1 if none did."""
    folds, state, merged = folds_of(folded), accumulated(folded), accumulated(merged_in)
    for number in range(len(folds)):
        if folds[number].operation == CALLED:
            if not _call_for_slots(folded, merged_in, number, call_of(folded, number).retract, source, target):
                return number
        elif folds[number].operation != PART:
            for i in range(len(source)):
                merged[target[i], number] -= state[source[i], number]
    return -1


@kernel
def _write_kept(folded: Folds, fold: int, slots: Words, column: Words) -> None:
    """Write what a fold keeps at slots; null where that is nothing."""
    row, orders, kept = folds_of(folded)[fold], accumulated(folded)[:, fold], kept_by(folded, fold)
    for i in range(len(slots)):
        column[i] = row.null if orders[slots[i]] == row.initial else kept[slots[i]]


@kernel
def write_partials(folded: Folds, slots: Words, message: int, position: int) -> int:
    """Write the state of slots to a message's columns from `position` on, as `Plan.partial_kinds` has it; returns the
    next one."""
    folds, state = folds_of(folded), accumulated(folded)
    for fold in range(len(folds)):
        gather(state[:, fold], slots, column_of(message, position))
        position += 1
        if folds[fold].keeps:
            _write_kept(folded, fold, slots, column_of(message, position))
            position += 1
    return position


@kernel
def write_rows(world: int, folded: Folds, message: int, reply: int, position: int) -> None:
    """Let columns of a bare message from `position` on be what `write_partials` writes of each row alone, of folds that
    keep no values; what is a column that came is passed on."""
    folds, rows = folds_of(folded), rows_of(message)
    for number in range(len(folds)):
        fold = folds[number]
        is_chosen = fold.where >= 0 or fold.nullable
        if fold.operation != COUNT and not is_chosen and not fold.flip:
            point_to(reply, position + number, column_of(message, fold.column).ctypes.data)
            continue
        made = words_at(lease(world_at(world), 8 * rows), rows)
        point_to(reply, position + number, made.ctypes.data)
        if fold.operation != COUNT:
            _choose(fold, message, 0, column_of(message, fold.column), made)
            continue
        made[:] = 1
        if is_chosen:
            _choose(fold, message, 0, made, made)


@kernel
def _divide(operation: int, state: Words, result: ResultRow, slots: Words, column: Words) -> None:
    means, fold, counted, unit = column.view(np.float64), result.fold, result.counted, result.unit
    for i in range(len(slots)):
        means[i] = mean_of(operation, state[slots[i], fold], unit, state[slots[i], counted])


@kernel
def write_results(folded: Folds, slots: Words, message: int, first: int) -> int:
    """Write the results for slots to a message's columns from number `first` on. Returns the fold of which one is the
    number that stands for null; -1 if none is."""
    wrong = -1
    ask_for_state(folded, slots[:_FEW])
    for start in range(0, len(slots), _FEW):
        stop = min(start + _FEW, len(slots))
        ask_for_state(folded, slots[stop : stop + _FEW])
        wrong = max(wrong, _write_some(folded, slots[start:stop], message, first, start))
    return wrong


@kernel
def _write_some(folded: Folds, slots: Words, message: int, first: int, start: int) -> int:
    wrong = -1
    state = accumulated(folded)
    results = records_at(folded.results, folded.result_count, ResultRow)
    for number in range(len(results)):
        result, column = results[number], column_of(message, first + number)[start : start + len(slots)]
        words = state[:, result.fold]
        if result.how == KEPT:
            _write_kept(folded, result.fold, slots, column)
        elif result.how == FINISHED:
            is_finished = finish_slots(
                result.finalize, folded.job, _first_state(folded, result.fold), 8 * folded.width, slots,
                result.null, result.parameters, result.parameter_count, column, result.also,
            )  # fmt: skip
            if not is_finished:
                wrong = signed(result.fold)
        elif result.how == AS_IT_IS:
            gather(words, slots, column)
        elif result.how == FLIPPED:
            for i in range(len(slots)):
                column[i] = words[slots[i]] ^ LEAST
        else:
            _divide(folds_of(folded)[result.fold].operation, state, result, slots, column)
        if result.present >= 0:
            for i in range(len(slots)):
                if state[slots[i], result.present] == 0:
                    column[i] = result.null
                elif result.exact and column[i] == result.null:
                    wrong = signed(result.fold)
    return wrong
