"""Accumulators as tables of words: what is to be folded, and where the state is, told to compiled operators."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import Record, Words, address_of, records_at, table_at, words_at
from tokenring.operators.folds.accumulators import Accumulators
from tokenring.operators.folds.called import SCRATCH_ROWS, Call, FoldJob, takes_of
from tokenring.operators.folds.functions import Fold, Result
from tokenring.operators.folds.kernels import BLOCK, CALLED, FIRST, LAST, MAX, MAX_FLOAT, MIN, MIN_FLOAT
from tokenring.operators.folds.plan import Plan, counted_columns
from tokenring.operators.folds.sets import MOST_FLAGS, ValueSet, ValueSets
from tokenring.operators.state import LEAST, MOST, shared_scratch


class Folds(Record):
    """What is folded, and where the state is. `kept`: by fold the address of the values that it keeps, by slot.
    `arrived`: rows so far, by which those are chosen that have no order of their own. `calls`: whose functions fold;
    `job`, `call_scratch`, `call_room`: what they are called with, and room, in words, for that."""

    folds: int
    fold_count: int
    state: int
    slots: int
    width: int
    results: int
    result_count: int
    kept: int
    arrived: int
    sets: int
    set_count: int
    set_scratch: int
    calls: int
    call_count: int
    job: int
    call_scratch: int
    call_room: int


class FoldRow(Record):
    """One fold. `column`, `where`, `order`: of messages, -1 for none. `neutral`: what it takes in the place of a row
    that it is not about. `set`, `flag`: where it counts different values, which set it shares with others, and what
    marks its own. `call`: where functions fold, which."""

    operation: int
    column: int
    where: int
    flip: int
    nullable: int
    null: int
    initial: int
    neutral: int
    keeps: int
    order: int
    set: int
    flag: int
    call: int


class ResultRow(Record):
    """One result. `finalize`: the function that makes it, if one does, and what that takes beside a state."""

    how: int
    fold: int
    counted: int
    present: int
    null: int
    unit: int
    finalize: int
    parameters: int
    parameter_count: int


SET_SCRATCH_ROWS = 6
_NAN = int(np.array([np.nan]).view(np.int64)[0])
_NEUTRAL = {MIN: MOST, MAX: LEAST, FIRST: MOST, LAST: LEAST, MIN_FLOAT: _NAN, MAX_FLOAT: _NAN}


@kernel
def folds_of(folded: Folds) -> Sequence[FoldRow]:
    """The table of folds."""
    return records_at(folded.folds, folded.fold_count, FoldRow)


@kernel
def accumulated(folded: Folds) -> Words:
    """The words of state: (slots, words)."""
    return table_at(folded.state, folded.slots, folded.width)


@kernel
def kept_by(folded: Folds, fold: int) -> Words:
    """The values that a fold keeps, by slot."""
    return words_at(words_at(folded.kept, folded.fold_count)[fold], folded.slots)


@kernel
def sets_of(folded: Folds) -> Sequence[ValueSet]:
    """The sets of different values."""
    return records_at(folded.sets, folded.set_count, ValueSet)


@kernel
def call_of(folded: Folds, fold: int) -> Call:
    """Whose functions a fold is of."""
    return records_at(folded.calls, folded.call_count, Call)[folds_of(folded)[fold].call]


@kernel
def start_slot(folded: Folds, slot: int) -> None:
    """A slot starts anew."""
    folds, state = folds_of(folded), accumulated(folded)
    for fold in range(len(folds)):
        state[slot, fold] = folds[fold].initial


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
    return row + [0] * (Call.size - len(row))


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
        self._calls = np.array(calls, np.int64).reshape(len(calls), Call.size)
        widest = max([BLOCK, *[2 + fold.functions.width for fold in plan.folds if fold.functions is not None]])
        self._job = FoldJob().words
        self._call_scratch = shared_scratch(__name__, SCRATCH_ROWS, widest)
        self.folds = np.array(rows, FoldRow.dtype)
        self._parameters = [np.array(each.parameters, np.float64) for each in plan.results]
        results = [_result_row(*each) for each in zip(plan.results, self._parameters, strict=True)]
        self.results = np.array(results, ResultRow.dtype)
        self._kept = np.zeros(len(rows), np.int64)
        self._sets = np.zeros((len(pieces), ValueSet.size), np.int64)
        self._values = [
            ValueSets(ValueSet(words), plan.schema.position(column), numbers)
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

    def link(self, folded: Folds) -> None:
        """Write down where they are, and the state is now. To be repeated when that has grown."""
        table, kept = self._state.table, self._state.kept
        self._kept[list(kept)] = [address_of(values) for values in kept.values()]
        folded.words[:] = (
            *(address_of(self.folds), len(self.folds), address_of(table), *table.shape),
            *(address_of(self.results), len(self.results), address_of(self._kept), folded.arrived),
            *(address_of(self._sets), len(self._sets), address_of(self._scratch)),
            *(address_of(self._calls), len(self._calls), address_of(self._job), address_of(self._call_scratch)),
            self._call_scratch.shape[1],
        )
