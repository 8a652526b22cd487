"""State of aggregates as records: what is to be folded, and where the state is."""

from collections.abc import Sequence

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, records_at, table_at, words_at
from tokenring.operators.folds.called import Call
from tokenring.operators.folds.sets import ValueSet


class Folds(Record):
    """What is folded, and where the state is. `kept`: by fold the address of the values that it keeps, by slot.
    `arrived`: rows so far, by which those are chosen that have no order of their own. `calls`: whose functions fold;
    `job`, `call_scratch`, `call_room`: what they are called with, and room, in words, for that. `text_count`: how many
    folds keep texts."""

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
    text_count: int


class FoldRow(Record):
    """One fold. `column`, `where`, `order`: of messages, -1 for none. `initial`: the word before any row, which stands
    in the place of one that it is not about, too. `exact`: it keeps some of a column's numbers, of which none may be
    the one that stands for null. `set`, `flag`: where it counts different values, which set it shares with others, and
    what marks its own. `call`: where functions fold, which. `texts`: where it keeps texts, the address of their
    TextStore."""

    operation: int
    column: int
    where: int
    flip: int
    nullable: int
    null: int
    initial: int
    keeps: int
    order: int
    exact: int
    set: int
    flag: int
    call: int
    texts: int


class ResultRow(Record):
    """One result. `exact`: of numbers, none of which may be the one that stands for null. `finalize`: the function that
    makes it, if one does, what that takes beside a state, and what it may `also` make, see `made_also`."""

    how: int
    fold: int
    counted: int
    present: int
    null: int
    exact: int
    unit: int
    finalize: int
    parameters: int
    parameter_count: int
    also: int


SET_SCRATCH_ROWS = 8


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
