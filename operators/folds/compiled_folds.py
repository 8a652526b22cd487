"""Accumulators in compiled operators: the same kernels over the same words of state, told by tables what to fold."""

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import address_of, column_of, table_at
from tokenring.operators.folds.accumulators import Accumulators
from tokenring.operators.folds.functions import AS_IT_IS, FLIPPED, MEAN, MEAN_UNSIGNED, Fold
from tokenring.operators.folds.kernels import (
    COUNT,
    DISTINCT,
    MAX_FLOAT,
    MIN_FLOAT,
    SUM,
    SUM_FLOAT,
    fold_floats,
    fold_runs,
    fold_words,
)
from tokenring.operators.folds.plan import Plan
from tokenring.operators.state import LEAST

# Words of an operator's state; rows of the two tables.
FOLDS, FOLD_COUNT, STATE, STATE_WIDTH, RESULTS, RESULT_COUNT = range(6)
FOLDS_WORDS = 6
OPERATION, COLUMN, _WHERE, _FLIP, _NULLABLE, _NULL, _INITIAL = range(7)
_FOLD_WORDS = 7
_HOW, _FOLD, _COUNT, _PRESENT, _RESULT_NULL = range(5)
_RESULT_WORDS = 5
_FLOATS = (SUM_FLOAT, MIN_FLOAT, MAX_FLOAT)


def can_fold(plan: Plan) -> bool:
    """Whether kernels alone can fold rows so: where keys and values are words, conditions columns, and no fold keeps
    rows or sets of values."""
    return (
        not plan.schema.has_text
        and all(plan.schema.kind(name).name != "float64" for name in plan.by)  # where -0.0 is 0.0
        and all(
            not fold.keeps_rows and fold.operation != DISTINCT and (fold.where is None or isinstance(fold.where, str))
            for fold in plan.folds
        )
    )


@kernel
def folds_of(own, at):  # type: ignore[no-untyped-def]
    """The table of folds."""
    return table_at(own[at + FOLDS], own[at + FOLD_COUNT], _FOLD_WORDS)


@kernel
def accumulated(own, at):  # type: ignore[no-untyped-def]
    """The words of state: (folds, slots)."""
    return table_at(own[at + STATE], own[at + FOLD_COUNT], own[at + STATE_WIDTH])


@kernel
def start_slot(own, at, slot):  # type: ignore[no-untyped-def]
    """A slot starts anew."""
    folds, state = folds_of(own, at), accumulated(own, at)
    for fold in range(len(folds)):
        state[fold, slot] = folds[fold, _INITIAL]


@kernel
def _choose(fold, message, start, slots, values, chosen, picked):  # type: ignore[no-untyped-def]
    """The rows that a fold is about, as it wants their values: slots and values. Returns how many."""
    found = 0
    conditions = values
    if fold[_WHERE] >= 0:
        conditions = column_of(message, fold[_WHERE])[start : start + len(slots)]
    flip = LEAST if fold[_FLIP] else 0
    for i in range(len(slots)):
        if fold[_WHERE] >= 0 and conditions[i] != 1:
            continue
        if fold[_NULLABLE] and values[i] == fold[_NULL]:
            continue
        chosen[found], picked[found] = slots[i], values[i] ^ flip
        found += 1
    return found


@kernel
def fold_block(own, at, message, start, slots, chosen, picked):  # type: ignore[no-untyped-def]
    """Fold rows of a message from `start` on into their slots. chosen, picked: room for as many words. Returns the fold
    whose sum left its range; -1 if none did."""
    folds, state = folds_of(own, at), accumulated(own, at)
    for number in range(len(folds)):
        fold, where, values = folds[number], slots, slots
        if fold[COLUMN] >= 0:
            values = column_of(message, fold[COLUMN])[start : start + len(slots)]
        if fold[_WHERE] >= 0 or fold[_NULLABLE] or fold[_FLIP]:
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
    results = table_at(own[at + RESULTS], own[at + RESULT_COUNT], _RESULT_WORDS)
    for number in range(len(results)):
        result, column = results[number], column_of(message, first + number)
        words = state[result[_FOLD]]
        if result[_HOW] == AS_IT_IS:
            gather(words, slots, column)
        elif result[_HOW] == FLIPPED:
            for i in range(len(slots)):
                column[i] = words[slots[i]] ^ LEAST
        else:
            _divide(result[_HOW], words, state[result[_COUNT]], slots, column)
        if result[_PRESENT] >= 0:
            present = state[result[_PRESENT]]
            for i in range(len(slots)):
                if present[slots[i]] == 0:
                    column[i] = result[_RESULT_NULL]


def _fold_row(fold: Fold, schema: Schema) -> tuple[int, ...]:
    kind = None if fold.column is None else schema.kind(fold.column)
    column = -1 if fold.column is None else schema.position(fold.column)
    where = -1 if fold.where is None else schema.position(fold.where)
    nullable = kind is not None and kind.nullable
    null = 0 if kind is None else kind.null
    return fold.operation, column, where, fold.flip, nullable, null, fold.initial


class FoldTables:
    """What a plan for which `can_fold` holds is to kernels."""

    def __init__(self, plan: Plan) -> None:
        rows = [_fold_row(fold, plan.schema) for fold in plan.folds]
        self.folds = np.array(rows, np.int64).reshape(len(rows), _FOLD_WORDS)
        results = [(each.how, each.fold, each.count, each.present, each.kind.null) for each in plan.results]
        self.results = np.array(results, np.int64).reshape(len(results), _RESULT_WORDS)

    def link(self, words: np.ndarray, at: int, state: Accumulators) -> None:
        """Write down where they are, and `state` is now, in FOLDS_WORDS words from `at` on. To be repeated when that
        has grown."""
        table = state.table
        words[at : at + FOLDS_WORDS] = (
            *(address_of(self.folds), len(self.folds), address_of(table), table.shape[1]),
            *(address_of(self.results), len(self.results)),
        )
