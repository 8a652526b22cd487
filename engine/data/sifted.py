"""A stateless operator that goes on without the rows it fails at, which somebody else takes."""

import ctypes
from collections.abc import Callable
from functools import partial
from weakref import ref

import numpy as np

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.errors import GroupStopped, MemoryBudgetError, SchemaError
from tokenring.engine.graph import BatchFunction, CompiledStage, Rejects, Stage, stage_of
from tokenring.engine.native import (
    StageBeginning,
    addresses_of,
    array_at,
    bare_message,
    batch_at,
    gathered,
    give_keys,
    keys_of,
    rows_of,
    world_at,
)
from tokenring.shm.errors import BrokenInvariant
from tokenring.shm.kernels import address_of, entry, record_at, words_at
from tokenring.shm.memory import call_at

_NEVER_A_ROWS = (SchemaError, GroupStopped, BrokenInvariant, MemoryError, MemoryBudgetError)
"""Errors that are not about some row: a function that makes other columns than it said, no memory, the group's end.
What a row's values are at fault for is a UsageError."""


class Sifting(StageBeginning):
    """What fails, its `logic` and its `state`; the function to be called then, how many columns come in; for Python,
    how many rows the message has, and the addresses of its columns; where it leaves the rows that are good, and how
    many these are."""

    logic: int
    state: int
    python: int
    width: int
    rows: int
    columns: int
    good: int
    good_count: int


_FAILED, _NOT_TAKEN, _TAKEN = range(3)
_CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@entry
def sift(world: int, state: int) -> int:
    """What the stage makes of a message, or of the rows of it that it does not fail at."""
    own, graph = record_at(state, Sifting), world_at(world)
    message = own.message
    stage = record_at(own.state, StageBeginning)
    stage.message = message
    made = call_at(own.logic, world, own.state)
    if made >= 0:  # RAISED, too
        return made
    own.row = stage.row
    rows, columns = rows_of(message), addresses_of(message)
    own.rows, own.columns = rows, columns.ctypes.data
    answer = call_at(own.python, world, 0)
    if answer != _TAKEN:
        return made
    good = words_at(own.good, own.good_count)
    if len(good) == 0:
        return 0
    left = bare_message(graph, own.width, len(good))
    target = addresses_of(left)
    for column in range(own.width):
        target[column] = gathered(graph, words_at(columns[column], rows), good)
    keys = keys_of(message)
    give_keys(left, keys if keys == 0 else gathered(graph, words_at(keys, rows), good))
    stage.message = left
    made = call_at(own.logic, world, own.state)
    own.row = stage.row
    return made


Reject = Callable[[Batch, list[Exception]], None]
"""Who takes rows that a function fails at, with an error for each."""


def made_of_good(function: BatchFunction, batch: Batch, reject: Reject) -> Batch | None:
    """What a function makes of a batch, which it fails at, without the rows that it is about: these are handed to
    `reject`. Raises what is not about some row."""
    good = batch.take(_good_rows(function, batch, reject))
    return function(good) if good.rows else None


def _good_rows(function: BatchFunction, batch: Batch, reject: Reject) -> np.ndarray:
    """Hand over the rows that a function fails at, found by halving the batch; the numbers of the others."""
    bad: list[int] = []
    errors: list[Exception] = []
    parts = [(0, batch.rows)]
    while parts:
        start, stop = parts.pop()
        try:
            function(batch.take(np.arange(start, stop)))
        except _NEVER_A_ROWS:
            raise
        except Exception as error:
            if stop - start == 1:
                bad.append(start)
                errors.append(error)
            else:
                middle = (start + stop) // 2
                parts += [(middle, stop), (start, middle)]
    reject(batch.take(np.array(bad, np.int64)), errors)
    return np.delete(np.arange(batch.rows), bad)


class Sifted:
    """A function of batches that goes on without the rows that it fails at: found by halving the batch, and handed to
    who takes them. What is not about some row is raised, and so is everything where nobody takes it."""

    def __init__(self, function: BatchFunction, rejects: Rejects, stage: Stage, label: str, before: Schema) -> None:
        """stage: the last of those that the function does; label: their name; before: the schema of what comes in."""
        self._function, self._rejects, self._stage, self._label = function, rejects, stage, label
        self._before = before
        self._error: Exception | None = None
        self._good: np.ndarray = np.zeros(0, np.int64)
        self._state = Sifting()

    def __call__(self, batch: Batch) -> Batch | None:
        try:
            return self._function(batch)
        except _NEVER_A_ROWS:
            raise
        except Exception:
            if not self._rejects.takes(self._stage, self._label):
                raise
            return made_of_good(self._function, batch, self._reject)

    def _reject(self, rows: Batch, errors: list[Exception]) -> None:
        self._rejects.take(self._stage, self._label, rows, errors)

    def compiled_stage(self) -> CompiledStage | None:
        """The same in the worker's inner loop."""
        stage = stage_of(self._function)
        if stage is None:
            return None
        self._called = _CALLED(partial(_answer, ref(self)))
        state = self._state
        state.logic, state.state, state.width = stage.logic.address, address_of(stage.state), len(self._before)
        state.python = ctypes.cast(self._called, ctypes.c_void_p).value or 0
        explain = partial(self._explained, stage)
        return CompiledStage(sift, state.words, (stage, self), explain, stage.has_texts)

    def _explained(self, stage: CompiledStage, number: int, row: int) -> Exception:
        if self._error is not None:
            return self._error
        assert stage.explain is not None, "a stage that fails says why"
        return stage.explain(number, row)

    def answer(self) -> int:
        """Do what the stage asks for."""
        if not self._rejects.takes(self._stage, self._label):
            return _NOT_TAKEN
        try:
            addresses = array_at(self._state.columns, len(self._before)).tolist()
            batch = batch_at(self._before, addresses, self._state.rows)
            self._good = _good_rows(self._function, batch, self._reject)
        except Exception as error:
            self._error = error
            return _FAILED
        self._state.good, self._state.good_count = address_of(self._good), len(self._good)
        return _TAKEN


def _answer(sifted: "ref[Sifted]", world: int, wanted: int) -> int:
    """What the stage calls; it knows its function weakly, so that nothing goes round."""
    found = sifted()
    return _FAILED if found is None else found.answer()
