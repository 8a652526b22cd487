"""Accumulators as tables of words: what is to be folded, and where the state is, told to compiled operators."""

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import address_of, table_at, words_at
from tokenring.operators.folds.accumulators import Accumulators
from tokenring.operators.folds.called import CALL_WORDS, JOB_WORDS, SCRATCH_ROWS, takes_of
from tokenring.operators.folds.functions import Fold, Result
from tokenring.operators.folds.kernels import BLOCK, CALLED, FIRST, LAST, MAX, MAX_FLOAT, MIN, MIN_FLOAT
from tokenring.operators.folds.plan import Plan, counted_columns
from tokenring.operators.folds.sets import MOST_FLAGS, SET_WORDS, ValueSets
from tokenring.operators.state import LEAST, MOST, shared_scratch

# Words of an operator's state. KEPT: by fold the address of the values that it keeps, by slot. ARRIVED: rows so far, by
# which those are chosen that have no order of their own. CALLS: whose functions fold. JOB, CALL_SCRATCH, CALL_ROOM:
# what they are called with, and room, in words, for that.
FOLDS, FOLD_COUNT, STATE, STATE_SLOTS, STATE_WIDTH, RESULTS, RESULT_COUNT, KEPT, ARRIVED, SETS, SET_COUNT, \
    SET_SCRATCH, CALLS, CALL_COUNT, JOB, CALL_SCRATCH, CALL_ROOM = range(17)  # fmt: skip
FOLDS_WORDS = 17
# Of a fold. NEUTRAL: what it takes in the place of a row that it is not about. SET, FLAG: where it counts different
# values, which set it shares with others, and what marks its own. CALL: where functions fold, which.
OPERATION, COLUMN, WHERE, FLIP, NULLABLE, NULL, INITIAL, NEUTRAL, KEEPS, ORDER, SET, FLAG, CALL = range(13)
FOLD_WORDS = 13
# Of a result. FINALIZE: the function that makes it, if one does, and what that takes beside a state.
HOW, FOLD, COUNTED, PRESENT, RESULT_NULL, UNIT, FINALIZE, PARAMETERS, PARAMETER_COUNT = range(9)
RESULT_WORDS = 9
SET_SCRATCH_ROWS = 6
_NAN = int(np.array([np.nan]).view(np.int64)[0])
_NEUTRAL = {MIN: MOST, MAX: LEAST, FIRST: MOST, LAST: LEAST, MIN_FLOAT: _NAN, MAX_FLOAT: _NAN}


@kernel
def folds_of(own, at):  # type: ignore[no-untyped-def]
    """The table of folds."""
    return table_at(own[at + FOLDS], own[at + FOLD_COUNT], FOLD_WORDS)


@kernel
def accumulated(own, at):  # type: ignore[no-untyped-def]
    """The words of state: (slots, words)."""
    return table_at(own[at + STATE], own[at + STATE_SLOTS], own[at + STATE_WIDTH])


@kernel
def kept_by(own, at, fold):  # type: ignore[no-untyped-def]
    """The values that a fold keeps, by slot."""
    return words_at(words_at(own[at + KEPT], own[at + FOLD_COUNT])[fold], own[at + STATE_SLOTS])


@kernel
def sets_of(own, at):  # type: ignore[no-untyped-def]
    """The sets of different values."""
    return table_at(own[at + SETS], own[at + SET_COUNT], SET_WORDS)


@kernel
def call_of(own, at, fold):  # type: ignore[no-untyped-def]
    """Whose functions a fold is of."""
    return table_at(own[at + CALLS], own[at + CALL_COUNT], CALL_WORDS)[folds_of(own, at)[fold, CALL]]


@kernel
def start_slot(own, at, slot):  # type: ignore[no-untyped-def]
    """A slot starts anew."""
    folds, state = folds_of(own, at), accumulated(own, at)
    for fold in range(len(folds)):
        state[slot, fold] = folds[fold, INITIAL]


def _fold_row(fold: Fold, schema: Schema, sets: dict[int, tuple[int, int]], number: int, call: int) -> tuple[int, ...]:
    kind = None if fold.column is None else schema.kind(fold.column)
    column = -1 if fold.column is None else schema.position(fold.column)
    where = -1 if fold.where is None else schema.position(fold.where)
    order = -1 if fold.order is None else schema.position(fold.order)
    nullable = kind is not None and kind.nullable
    null = 0 if kind is None else kind.null
    return (
        *(fold.operation, column, where, fold.flip, nullable, null, fold.initial),
        *(_NEUTRAL.get(fold.operation, 0), fold.keeps_rows, order),
        *sets.get(number, (-1, 0)),
        call,
    )


def _call_row(fold: Fold, schema: Schema) -> list[int]:
    functions = fold.functions
    assert functions is not None
    retract = 0 if functions.retract is None else functions.retract.address
    row = [functions.update.address, functions.combine.address, retract, functions.width, fold.are_states]
    arguments = []
    for name, taken in zip(fold.columns, functions.takes, strict=False):  # of states the first column alone
        kind = schema.kind(name)
        takes = 0 if fold.are_states else takes_of(taken, kind)
        arguments += [schema.position(name), takes, kind.nullable, kind.null]
    row += [len(fold.columns), *arguments]
    return row + [0] * (CALL_WORDS - len(row))


def _result_row(result: Result, parameters: np.ndarray) -> tuple[int, ...]:
    finalize = 0 if result.finish is None else result.finish.finalize.address
    return (
        *(result.how, result.fold, result.count, result.present, result.kind.null, result.unit),
        *(finalize, parameters.ctypes.data, len(parameters)),
    )


class FoldTables:
    """What a plan for which `can_fold` holds is to kernels; and the sets of different values."""

    def __init__(self, plan: Plan, state: Accumulators) -> None:
        self._state = state
        pieces = counted_columns(plan, MOST_FLAGS)
        flags = {
            number: (at, 1 << flag) for at, (_, numbers) in enumerate(pieces) for flag, number in enumerate(numbers)
        }
        called = [number for number, fold in enumerate(plan.folds) if fold.operation == CALLED]
        rows = [
            _fold_row(fold, plan.schema, flags, number, called.index(number) if number in called else -1)
            for number, fold in enumerate(plan.folds)
        ]
        calls = [_call_row(plan.folds[number], plan.schema) for number in called]
        self._calls = np.array(calls, np.int64).reshape(len(calls), CALL_WORDS)
        widest = max([BLOCK, *[2 + fold.functions.width for fold in plan.folds if fold.functions is not None]])
        self._job = np.zeros(JOB_WORDS, np.int64)
        self._call_scratch = shared_scratch(__name__, SCRATCH_ROWS, widest)
        self.folds = np.array(rows, np.int64).reshape(len(rows), FOLD_WORDS)
        self._parameters = [np.array(each.parameters, np.float64) for each in plan.results]
        results = [_result_row(*each) for each in zip(plan.results, self._parameters, strict=True)]
        self.results = np.array(results, np.int64).reshape(len(results), RESULT_WORDS)
        self._kept = np.zeros(len(rows), np.int64)
        self._sets = np.zeros((len(pieces), SET_WORDS), np.int64)
        self._values = [
            ValueSets(words, plan.schema.position(column), numbers)
            for words, (column, numbers) in zip(self._sets, pieces, strict=True)
        ]
        self._scratch = shared_scratch(__name__, SET_SCRATCH_ROWS, BLOCK)

    def make_room(self, limit: int) -> None:
        """Room for slots below `limit`, and for one more value in each set."""
        self._state.reserve(limit)
        for values in self._values:
            values.grow(limit)

    @property
    def values(self) -> list[ValueSets]:
        """The sets, in the order of `counted_columns`."""
        return self._values

    def link(self, words: np.ndarray, at: int) -> None:
        """Write down where they are, and the state is now, in FOLDS_WORDS words from `at` on. To be repeated when that
        has grown."""
        table, kept = self._state.table, self._state.kept
        self._kept[list(kept)] = [address_of(values) for values in kept.values()]
        arrived = words[at + ARRIVED]
        words[at : at + FOLDS_WORDS] = (
            *(address_of(self.folds), len(self.folds), address_of(table), *table.shape),
            *(address_of(self.results), len(self.results), address_of(self._kept), arrived),
            *(address_of(self._sets), len(self._sets), address_of(self._scratch)),
            *(address_of(self._calls), len(self._calls), address_of(self._job), address_of(self._call_scratch)),
            self._call_scratch.shape[1],
        )
