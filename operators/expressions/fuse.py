"""Neighbouring stateless operators as one function of a batch, or one stage: runs of the machine, and text made between
them.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tokenring.engine import Batch, BatchFunction, Schema, SchemaError
from tokenring.engine.compiled import CompiledStage, can_have_texts
from tokenring.operators.expressions.batch_runs import Chain, Form, Machine, Projection
from tokenring.operators.expressions.hoist import MOST_COLUMNS, MakeText, Remember, without_text
from tokenring.operators.expressions.node import Node
from tokenring.operators.expressions.program import Program, Step
from tokenring.operators.expressions.terms import columns_of
from tokenring.operators.expressions.typed import typed


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

    def reads(self, wanted: set[str]) -> set[str]:
        """See Fusable. What is computed is, wanted or not: it may fail."""
        step = self.step()
        terms = [term for name, term in step.columns.items() if name in wanted or term.operation != "column"]
        return {name for term in (*terms, *filter(None, (step.condition,))) for name in columns_of(term)}


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


def _runs(
    schema: Schema, steps: Sequence[Step], most_columns: int, has_one_heap: bool
) -> Iterator[tuple[Schema, list[Step] | MakeText | Remember]]:
    """Runs of steps for the machine, and what is done between them, each with the schema before it; arguments: see
    `without_text`."""
    waiting: list[Step] = []
    for step in steps:
        for plain in without_text(step, waiting[-1].schema if waiting else schema, most_columns, has_one_heap):
            if isinstance(plain, Step):
                waiting.append(plain)
                continue
            if waiting:
                yield schema, waiting
                schema, waiting = waiting[-1].schema, []
            yield schema, plain
            schema = plain.schema
    if waiting:
        yield schema, waiting


def _few(schema: Schema, made: Remember) -> BatchFunction:
    """What makes the columns that are remembered."""
    return _joined(schema.select(made.columns), [made.step], len(made.columns) - 1)


def _joined(schema: Schema, steps: Sequence[Step], most_columns: int) -> BatchFunction:
    """Steps as one function."""
    form = partial(_stage, schema, steps)
    functions: list[BatchFunction] = []
    for before, made in _runs(schema, steps, most_columns, has_one_heap=False):
        if isinstance(made, Remember):
            from tokenring.operators.expressions.remembered import Remembered

            functions.append(Remembered(_few(before, made), before, made.columns, made.schema))
        elif isinstance(made, MakeText):
            functions.append(made.function)
        else:
            functions.append(_machine(before, made, form))
    return functions[0] if len(functions) == 1 else Chain(functions, form)


def _machine(before: Schema, steps: Sequence[Step], form: Form) -> Projection | Machine:
    """Steps without functions of text as one function."""
    program = Program(before)
    for step in steps:
        program.add(step)
    compiled = program.finish()
    after = steps[-1].schema
    if not program.has_filters and not compiled.outputs:
        return Projection(compiled, after, form)
    return Machine(before, after, program, compiled, form)


def _stage(schema: Schema, steps: Sequence[Step]) -> CompiledStage | None:
    """Steps in the worker's inner loop, where all text is in the text space; None where there is none."""
    from tokenring.operators.expressions.stage_runs import compiled_run
    from tokenring.operators.expressions.stages import MadeColumns, chained

    parts = []
    for before, made in _runs(schema, steps, MOST_COLUMNS, has_one_heap=True):
        has_texts = not isinstance(made, list) or before.has_text or any([step.schema.has_text for step in made])
        if has_texts and not can_have_texts():
            return None
        if isinstance(made, Remember):
            parts.append(MadeColumns(_few(before, made), before, made.schema, made.columns).stage())
        elif isinstance(made, MakeText):
            parts.append(MadeColumns(made.function, before, made.schema).stage())
        else:
            parts.append(compiled_run(before, made))
    return chained(parts)


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
