"""A job: what an aggregate's functions are called with, by blocks of rows: its words, and kernels that read them."""

from typing import Any

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import RAISED, Entry, address_of, words_at

# STATES, STRIDE: where the first slot's state is, and bytes from slot to slot. SLOTS: by row the slot that it folds
# into. OTHERS, OTHER_STRIDE, OTHER_SLOTS: the same of states that are combined with those. FIRST, SECOND: the
# arguments, by row. RESULTS, NULL: where results go, by row, and the word that stands for null there. PARAMETERS,
# PARAMETER_COUNT: floats that `finalize` takes.
STATES, STRIDE, SLOTS, OTHERS, OTHER_STRIDE, OTHER_SLOTS, FIRST, SECOND, RESULTS, NULL, PARAMETERS, PARAMETER_COUNT = \
    range(12)  # fmt: skip
JOB_WORDS = 12


@kernel
def state_of(job, row):  # type: ignore[no-untyped-def]
    """Where the state is that a row folds into."""
    words = words_at(job, JOB_WORDS)
    return words[STATES] + words_at(words[SLOTS], row + 1)[row] * words[STRIDE]


@kernel
def other_of(job, row):  # type: ignore[no-untyped-def]
    """Where the state is that is combined with that."""
    words = words_at(job, JOB_WORDS)
    return words[OTHERS] + words_at(words[OTHER_SLOTS], row + 1)[row] * words[OTHER_STRIDE]


@kernel
def words_taken(job, which, rows):  # type: ignore[no-untyped-def]
    """An argument, by row; 0 is the first one."""
    return words_at(words_at(job, JOB_WORDS)[FIRST + which], rows)


@kernel
def floats_taken(job, which, rows):  # type: ignore[no-untyped-def]
    """An argument, by row, as float64."""
    return words_taken(job, which, rows).view(np.float64)


@kernel
def results_of(job, rows):  # type: ignore[no-untyped-def]
    """Where results go, by row."""
    return words_at(words_at(job, JOB_WORDS)[RESULTS], rows)


@kernel
def float_results_of(job, rows):  # type: ignore[no-untyped-def]
    """The same, as float64."""
    return results_of(job, rows).view(np.float64)


@kernel
def null_of(job):  # type: ignore[no-untyped-def]
    """The word that stands for null among results."""
    return words_at(job, JOB_WORDS)[NULL]


@kernel
def parameters_of(job):  # type: ignore[no-untyped-def]
    """What `finalize` takes beside a state, float64."""
    words = words_at(job, JOB_WORDS)
    return words_at(words[PARAMETERS], words[PARAMETER_COUNT]).view(np.float64)


class Job:
    """A job of Python's: over arrays, which it keeps."""

    def __init__(self, states: np.ndarray, first: int, slots: np.ndarray) -> None:
        """states: int64 (slots, words), the aggregate's from word `first` on; slots: int64 (rows,)."""
        self.words = np.zeros(JOB_WORDS, np.int64)
        self._kept: list[Any] = []
        self.words[STATES], self.words[STRIDE] = address_of(states, first), states.strides[0]
        self._point(SLOTS, slots)

    def _point(self, word: int, array: np.ndarray) -> None:
        array = np.ascontiguousarray(array)
        self._kept.append(array)
        self.words[word] = array.ctypes.data

    def with_arguments(self, arguments: list[np.ndarray]) -> "Job":
        """For `update`: int64 (rows,) each."""
        for which, argument in enumerate(arguments):
            self._point(FIRST + which, argument)
        return self

    def with_others(self, states: np.ndarray, first: int, slots: np.ndarray) -> "Job":
        """For `combine` and `retract`: as of `states`."""
        self._kept.append(states)
        self.words[OTHERS], self.words[OTHER_STRIDE] = address_of(states, first), states.strides[0]
        self._point(OTHER_SLOTS, slots)
        return self

    def with_results(self, results: np.ndarray, null: int, parameters: np.ndarray) -> "Job":
        """For `finalize`: results int64 (rows,); parameters float64 (n,)."""
        self._kept.append(parameters)
        self.words[RESULTS], self.words[NULL] = results.ctypes.data, null
        self.words[PARAMETERS], self.words[PARAMETER_COUNT] = parameters.ctypes.data, len(parameters)
        return self

    def is_done_by(self, function: Entry, rows: int) -> bool:
        """Call an aggregate's function with it; False if that raised."""
        return bool(function(address_of(self.words), rows) != RAISED)
