"""A job: what an aggregate's functions are called with, by blocks of rows; and kernels that read it."""

from typing import Any

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import RAISED, Entry, Record, Words, address_of, record_at, room, words_at


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
def float_results_of(job: int, rows: int) -> np.ndarray:
    """The same, as float64."""
    return results_of(job, rows).view(np.float64)


@kernel
def null_of(job: int) -> int:
    """The word that stands for null among results."""
    return record_at(job, FoldJob).null


@kernel
def parameters_of(job: int) -> np.ndarray:
    """What `finalize` takes beside a state, float64."""
    its = record_at(job, FoldJob)
    return words_at(its.parameters, its.parameter_count).view(np.float64)


class Job:
    """A job of Python's: over arrays, which it keeps."""

    def __init__(self, states: np.ndarray, first: int, slots: np.ndarray) -> None:
        """states: int64 (slots, words), the aggregate's from word `first` on; slots: int64 (rows,)."""
        self._its = FoldJob()
        self._kept: list[Any] = []
        self._its.states, self._its.stride = address_of(states, first), states.strides[0]
        self._its.slots = self._kept_at(slots)

    def _kept_at(self, array: np.ndarray) -> int:
        array = np.ascontiguousarray(array)
        self._kept.append(array)
        return int(array.ctypes.data)

    def with_arguments(self, arguments: list[np.ndarray]) -> "Job":
        """For `update`: int64 (rows,) each."""
        for which, argument in enumerate(arguments):
            self._its.arguments[which] = self._kept_at(argument)
        return self

    def with_others(self, states: np.ndarray, first: int, slots: np.ndarray) -> "Job":
        """For `combine` and `retract`: as of `states`."""
        self._kept.append(states)
        self._its.others, self._its.other_stride = address_of(states, first), states.strides[0]
        self._its.other_slots = self._kept_at(slots)
        return self

    def with_results(self, results: np.ndarray, null: int, parameters: np.ndarray) -> "Job":
        """For `finalize`: results int64 (rows,); parameters float64 (n,)."""
        self._kept.append(parameters)
        self._its.results, self._its.null = results.ctypes.data, null
        self._its.parameters, self._its.parameter_count = parameters.ctypes.data, len(parameters)
        return self

    def is_done_by(self, function: Entry, rows: int) -> bool:
        """Call an aggregate's function with it; False if that raised."""
        return bool(function(self._its.address, rows) != RAISED)
