"""Steps as functions of batches: columns by reference, runs of the machine, and several one after the other.

form: what makes the stage of the worker's inner loop that does the same.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Batch, BatchFunction, Schema, UsageError
from tokenring.engine.compiled import CompiledStage
from tokenring.engine.raw import address_of
from tokenring.operators.expressions.machine import (
    BLOCK,
    FITS,
    KNOWN,
    OPERATIONS,
    REAL_TO_INT,
    SCRATCH_ROWS,
    run,
    words_address,
)
from tokenring.operators.expressions.program import Compiled, Program

Form = Callable[[], CompiledStage | None]

_DIVISIONS = {OPERATIONS[family + sign] for family in ("int", "uint") for sign in ("//", "%")}
_WORD = np.dtype(np.int64)
_NO_ROWS = np.empty(0, np.int64)
_AT_ROW = ", row {} of the batch"


class Projection:
    """Columns by reference."""

    __slots__ = ("_form", "_positions", "_schema")

    def __init__(self, compiled: Compiled, schema: Schema, form: Form) -> None:
        self._form = form
        self._positions = [at for _, at, _ in compiled.sources]
        self._schema = schema

    def __call__(self, batch: Batch) -> Batch:
        schema, positions = self._schema, self._positions
        heaps = tuple([batch.heaps[at] for at in positions]) if schema.has_text else ()
        return Batch.wrap(schema, tuple([batch.columns[at] for at in positions]), batch.rows, heaps, batch)

    def compiled_stage(self) -> CompiledStage | None:
        """The same in the worker's inner loop."""
        return self._form()


class Machine:
    """Runs a program on batches; registers and addresses are kept from batch to batch."""

    def __init__(self, before: Schema, after: Schema, program: Program, compiled: Compiled, form: Form) -> None:
        self._form = form
        self._schema = after
        self._compiled = compiled
        self._loads = compiled.loads
        self._text_loads = [at for at in compiled.loads if before.kinds[at].is_text]
        self._literals = np.frombuffer(bytes(program.literals) or b"\0", np.uint8)
        self._columns = np.zeros(len(before) + 1, np.int64)
        self._heaps = np.zeros(len(before) + 1, np.int64)
        self._heaps[-1] = address_of(self._literals)
        self._outputs = np.zeros(max(compiled.outputs, 1), np.int64)[: compiled.outputs]
        self._scratch = np.zeros((SCRATCH_ROWS, max(BLOCK, len(compiled.registers))), np.int64)
        self._pool = np.array(program.pool or [0], np.int64)
        self._fault = np.zeros(1, np.int64)
        self._filters = program.has_filters
        identity = [(True, at, None) for at in range(len(before))]
        self._keeps_all = after == before and compiled.sources == identity
        self._dtypes = [_WORD] * compiled.outputs
        for (came_in, at, _), dtype in zip(compiled.sources, after.dtypes, strict=True):
            if not came_in:
                self._dtypes[at] = dtype

    def __call__(self, batch: Batch) -> Batch | None:
        rows, columns = batch.rows, batch.columns
        addresses = self._columns
        for at in self._loads:
            words = columns[at]
            addresses[at] = words_address(words if words.dtype == _WORD else words.view(_WORD))
        for at in self._text_loads:
            heap = batch.heaps[at]
            assert heap is not None
            self._heaps[at] = address_of(heap)
        outputs = [np.empty(rows, np.int64) for _ in self._dtypes]
        for at, made in enumerate(outputs):
            self._outputs[at] = words_address(made)
        chosen = np.empty(rows, np.int64) if self._filters else _NO_ROWS
        compiled = self._compiled
        found: int = run(
            *(compiled.program, addresses, self._heaps, self._outputs, compiled.registers, self._scratch, self._pool),
            *(chosen, self._fault, rows),
        )
        if found < 0:
            raise fault_of(compiled, -1 - found, int(self._fault[0]))
        if found == 0:
            return None
        if found < rows:
            chosen = chosen[:found]
            outputs = [made[:found] for made in outputs]
        elif self._keeps_all:
            return batch
        final, heaps = [], []
        for came_in, at, literal in compiled.sources:
            if came_in:
                final.append(columns[at] if found == rows else columns[at][chosen])
                heaps.append(batch.heaps[at] if batch.heaps else None)
            else:
                final.append(outputs[at].view(self._dtypes[at]))
                heaps.append(None if literal is None else self._literals)
        return Batch.wrap(self._schema, tuple(final), found, tuple(heaps) if self._schema.has_text else (), batch)

    def compiled_stage(self) -> CompiledStage | None:
        """The same in the worker's inner loop."""
        return self._form()


class Chain:
    """One function after the other."""

    __slots__ = ("_form", "_functions")

    def __init__(self, functions: Sequence[BatchFunction], form: Form) -> None:
        self._form = form
        self._functions = functions

    def __call__(self, batch: Batch) -> Batch | None:
        rows: Batch | None = batch
        for function in self._functions:
            if rows is None or not rows.rows:
                return None
            rows = function(rows)
        return rows

    def compiled_stage(self) -> CompiledStage | None:
        """The same in the worker's inner loop."""
        return self._form()


def fault_of(compiled: Compiled, line: int, row: int) -> UsageError:
    """What is said of an instruction that failed at a row."""
    operation, text = int(compiled.program[line, 0]), compiled.texts[line]
    if operation == KNOWN and compiled.program[line, 5]:
        why = "the number that stands for null; leave such rows out, or cast them to another kind"
    elif operation == KNOWN:
        why = "text that is no such number; say .try_cast for null there, or when(…).then(…) around the cast"
    elif operation in _DIVISIONS:
        why = "a division by zero, or beyond 64 bits; say when(… != 0).then(…) around it"
    elif operation == FITS:
        why = "the result is beyond its kind; say when(…).then(…) around it"
    elif operation >= REAL_TO_INT:
        why = "a value that does not fit the kind; say when(…).then(…) around the cast"
    else:
        why = "the result does not fit 64 bits; cast numbers to float64 first, or leave such rows out"
    return UsageError(f"{text}{_AT_ROW.format(row)}: {why}")


def said_of_row(error: Exception) -> str:
    """What is said of an error at a row that was tried alone: the batch that it was in is not known then."""
    return f"{type(error).__name__}: {error}".replace(_AT_ROW.format(0), "")
