"""Neighbouring stateless operators as one function of a batch: runs of the machine, and text made between them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tokenring.engine import Batch, BatchFunction, Schema, SchemaError, UsageError
from tokenring.engine.compiled import CompiledStage, heap_of_words
from tokenring.engine.raw import address_of
from tokenring.operators.expressions.blocks import REAL_TO_INT
from tokenring.operators.expressions.compiled import computing, projecting
from tokenring.operators.expressions.hoist import MOST_COLUMNS, Remember, without_text
from tokenring.operators.expressions.machine import BLOCK, OPERATIONS, run, words_address
from tokenring.operators.expressions.node import Node
from tokenring.operators.expressions.program import Compiled, Program, Step
from tokenring.operators.expressions.remembered import Remembered
from tokenring.operators.expressions.typed import typed

_DIVISIONS = {OPERATIONS[family + sign] for family in ("int", "uint") for sign in ("//", "%")}
_WORD = np.dtype(np.int64)
_NO_ROWS = np.empty(0, np.int64)


class Part:
    """A stateless operator that can become one function with others of its like (engine.Fusable)."""

    __slots__ = ()

    @staticmethod
    def fused(parts: Sequence["Part"]) -> BatchFunction:
        """One function that does what these do, one after the other."""
        kind = type(parts[0])
        return kind.alone(parts) if all([type(part) is kind for part in parts]) else together(parts)

    @classmethod
    def alone(cls, parts: Sequence[Any]) -> BatchFunction:
        """One function for parts of this class, which may know a better way."""
        return together(parts)

    def before(self) -> Schema:
        """The schema of the rows that come in."""
        raise NotImplementedError

    def step(self) -> Step:
        """What it does, in terms."""
        raise NotImplementedError


class Computation(Part):
    """A step of any terms."""

    __slots__ = ("_schema", "_step", "_text")

    def __init__(self, schema: Schema, step: Step, text: str) -> None:
        """schema: of the rows that come in; text: all that the step depends on."""
        self._schema = schema
        self._step = step
        self._text = text

    def before(self) -> Schema:
        return self._schema

    def step(self) -> Step:
        return self._step

    def __repr__(self) -> str:
        return self._text


def together(parts: Sequence[Part]) -> BatchFunction:
    """Parts of any class as one function."""
    return _joined(parts[0].before(), [part.step() for part in parts], MOST_COLUMNS)


def _joined(schema: Schema, steps: Sequence[Step], most_columns: int) -> BatchFunction:
    """Steps as one function; most_columns: see `without_text`."""
    functions: list[BatchFunction] = []
    waiting: list[Step] = []

    def compile_waiting() -> None:
        nonlocal schema
        if waiting:
            functions.append(_compiled(schema, waiting))
            schema = waiting[-1].schema
            waiting.clear()

    for step in steps:
        for plain in without_text(step, waiting[-1].schema if waiting else schema, most_columns):
            if isinstance(plain, Step):
                waiting.append(plain)
                continue
            compile_waiting()
            if isinstance(plain, Remember):
                few = _joined(schema.select(plain.columns), [plain.step], len(plain.columns) - 1)
                functions.append(Remembered(few, schema, plain.columns, plain.schema))
            else:
                functions.append(plain.function)
            schema = plain.schema
    compile_waiting()
    return functions[0] if len(functions) == 1 else _chain(functions)


def _chain(functions: Sequence[BatchFunction]) -> BatchFunction:
    def all_of_them(batch: Batch) -> Batch | None:
        rows: Batch | None = batch
        for function in functions:
            if rows is None or not rows.rows:
                return None
            rows = function(rows)
        return rows

    return all_of_them


def _compiled(before: Schema, steps: Sequence[Step]) -> BatchFunction:
    """Steps without functions of text as one function of a batch."""
    program = Program(before)
    for step in steps:
        program.add(step)
    compiled = program.finish()
    after = steps[-1].schema
    if not program.has_filters and not compiled.outputs:
        return _Projection(compiled, after)
    return _Machine(before, after, program, compiled)


class _Projection:
    """Columns by reference."""

    def __init__(self, compiled: Compiled, schema: Schema) -> None:
        self._positions = [at for _, at, _ in compiled.sources]
        self._schema = schema

    def __call__(self, batch: Batch) -> Batch:
        schema, positions = self._schema, self._positions
        heaps = tuple([batch.heaps[at] for at in positions]) if schema.has_text else ()
        return Batch.wrap(schema, tuple([batch.columns[at] for at in positions]), batch.rows, heaps, batch)

    def compiled_stage(self) -> CompiledStage:
        """The same in the worker's inner loop."""
        return projecting(self._positions)


class _Machine:
    """Runs a program on batches; registers and addresses are kept from batch to batch."""

    def __init__(self, before: Schema, after: Schema, program: Program, compiled: Compiled) -> None:
        self._schema = after
        self._compiled = compiled
        self._loads = compiled.loads
        self._text_loads = [at for at in compiled.loads if before.kinds[at].is_text]
        self._literals = np.frombuffer(bytes(program.literals) or b"\0", np.uint8)
        self._columns = np.zeros(len(before) + 1, np.int64)
        self._heaps = np.zeros(len(before) + 1, np.int64)
        self._heaps[-1] = address_of(self._literals)
        self._outputs = np.zeros(max(compiled.outputs, 1), np.int64)[: compiled.outputs]
        self._scratch = np.zeros((3, max(BLOCK, len(compiled.registers))), np.int64)
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
            raise self._error(-1 - found, int(self._fault[0]))
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
        """The same in the worker's inner loop, over the same registers; None where it makes text."""
        compiled, heaps = self._compiled, self._heaps.copy()
        if any([literal is not None for _, _, literal in compiled.sources]):
            return None  # constant texts have a heap of their own
        heaps[self._text_loads] = address_of(heap_of_words())
        return computing(
            compiled.program, compiled.registers, self._scratch, self._pool, heaps, self._fault, self._outputs,
            [(came_in, at) for came_in, at, _ in compiled.sources], self._filters, self._error,
        )  # fmt: skip

    def _error(self, line: int, row: int) -> UsageError:
        operation, text = int(self._compiled.program[line, 0]), self._compiled.texts[line]
        if operation == OPERATIONS["known"]:
            why = "text that is no such number; say .try_cast for null there, or when(…).then(…) around the cast"
        elif operation in _DIVISIONS:
            why = "a division by zero, or beyond 64 bits; say when(… != 0).then(…) around it"
        elif operation >= REAL_TO_INT:
            why = "a value that does not fit the kind; say when(…).then(…) around the cast"
        else:
            why = "the result does not fit 64 bits; cast to float64 first"
        return UsageError(f"{text}, row {row} of the batch: {why}")




class Masks:
    """Where a condition over rows of one schema is true; called with a batch."""

    __slots__ = ("_function", "schema")

    def __init__(self, condition: Node, schema: Schema) -> None:
        term = typed(condition, schema, "mask")
        if term.kind != "bool":
            raise SchemaError(f"{condition!r} is {term.kind}, not bool; compare it with something")
        self.schema = schema
        step = Step(None, {"mask": term}, Schema.of({"mask": term.spelled}))
        self._function = together([Computation(schema, step, repr(condition))])

    def __call__(self, batch: Batch) -> np.ndarray:
        """bool of shape (rows,)."""
        found = self._function(batch) if batch.rows else None
        return np.zeros(0, np.bool_) if found is None else found.columns[0] == 1
