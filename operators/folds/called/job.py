"""A job: what an aggregate's functions are called with, by blocks of rows; and kernels that read it, and write results.
"""

from typing import Any

import numpy as np

from tokenring.engine import Kind, kernel
from tokenring.engine.columns import BOOL_NULL
from tokenring.engine.compiled import RAISED, Record, Words, record_at, room, words_at
from tokenring.operators.state import MOST

IS_VALUE, IS_NULL, IS_NULL_WORD = range(3)
"""What `finalize` has made: a value, None, or a number that is the word that stands for null; of all rows of a call
together, by or, in which the latter two make RAISED."""


def made_also(kind: Kind) -> int:
    """What `finalize` may make beside values of this kind: null, or the number that stands for null elsewhere."""
    if kind.nullable:
        return IS_NULL
    return IS_NULL_WORD if kind.null_is_a_number or kind.is_float else IS_VALUE


def gave_no(kind: Kind) -> str:
    """What is said of a `finalize` that gave what is no value of this kind, and what to do about it."""
    cure = "let it return None where there is no result"
    also = f", such as {kind.null_word()[0]}, the number that stands for null there"
    if not kind.nullable:
        cure += f", and give gives='{kind}?'"
    return (
        f"returned what {kind} cannot hold{also * (made_also(kind) != IS_NULL_WORD)}; {cure}, and leave out rows that "
        f"have no other"
    )


class FoldJob(Record):
    """`states`, `stride`: where the first slot's state is, and bytes from slot to slot; `slots`: by row the slot that
    it folds into. `others`, `other_stride`, `other_slots`: the same of states that are combined with those.
    `arguments`: where they are, by row. `results`, `null`: where results go, by row, and the word that stands for null
    there. `parameters`, `parameter_count`: floats that `finalize` takes."""

    states: int
    stride: int
    slots: int
    others: int
    other_stride: int
    other_slots: int
    arguments: Words = room(2)
    results: int
    null: int
    parameters: int
    parameter_count: int


@kernel
def state_of(job: int, row: int) -> int:
    """Where the state is that a row folds into."""
    its = record_at(job, FoldJob)
    return its.states + words_at(its.slots, row + 1)[row] * its.stride


@kernel
def other_of(job: int, row: int) -> int:
    """Where the state is that is combined with that."""
    its = record_at(job, FoldJob)
    return its.others + words_at(its.other_slots, row + 1)[row] * its.other_stride


@kernel
def words_taken(job: int, which: int, rows: int) -> np.ndarray:
    """An argument, by row; 0 is the first one."""
    return words_at(record_at(job, FoldJob).arguments[which], rows)


@kernel
def floats_taken(job: int, which: int, rows: int) -> np.ndarray:
    """An argument, by row, as float64."""
    return words_taken(job, which, rows).view(np.float64)


@kernel
def results_of(job: int, rows: int) -> np.ndarray:
    """Where results go, by row."""
    return words_at(record_at(job, FoldJob).results, rows)


@kernel
def write_float(words: Words, row: int, made: Any, null: int) -> int:
    """Write what `finalize` made, a number or None, as a float64; says IS_VALUE or IS_NULL."""
    if made is None:
        words[row] = null
        return IS_NULL
    words.view(np.float64)[row] = made
    return IS_VALUE


@kernel
def write_word(words: Words, row: int, made: Any, null: int) -> int:
    """The same of an integer, or None, as a word of any other kind, where IS_NULL_WORD may come; of a bool all but 0 is
    true."""
    if made is None:
        words[row] = null
        return IS_NULL
    words[row] = made
    if null == BOOL_NULL and words[row] != 0:
        words[row] = 1
    return IS_NULL_WORD if words[row] == null else IS_VALUE


@kernel
def write_signed(words: Words, row: int, made: Any, null: int) -> int:
    """The same as an int64; RAISED where that is too small for it."""
    if made is not None and made > MOST:
        return RAISED
    return write_word(words, row, made, null)


@kernel
def write_unsigned(words: Words, row: int, made: Any, null: int) -> int:
    """The same as a uint64; RAISED where it is negative."""
    if made is not None and made < 0:
        return RAISED
    return write_word(words, row, made, null)


@kernel
def null_of(job: int) -> int:
    """The word that stands for null among results."""
    return record_at(job, FoldJob).null


@kernel
def parameters_of(job: int) -> np.ndarray:
    """What `finalize` takes beside a state, float64."""
    its = record_at(job, FoldJob)
    return words_at(its.parameters, its.parameter_count).view(np.float64)
