"""Steps without functions of text as a stage of the worker's inner loop, where all text is in the text space."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from tokenring.engine import Schema
from tokenring.engine.compiled import CompiledStage, address_of, constant_text, heap_of_words
from tokenring.operators.expressions.batch_runs import fault_of
from tokenring.operators.expressions.machine import BLOCK, SCRATCH_ROWS
from tokenring.operators.expressions.program import Program, Step
from tokenring.operators.expressions.stages import computing, projecting


def compiled_run(before: Schema, steps: Sequence[Step]) -> CompiledStage:
    """The stage of steps over rows of the schema `before`."""
    program = Program(before, constant_text)
    for step in steps:
        program.add(step)
    compiled = program.finish()
    if not program.has_filters and not compiled.outputs:
        return projecting([at for _, at, _ in compiled.sources])
    heaps = np.full(len(before) + 1, address_of(heap_of_words()), np.int64)
    return computing(
        compiled.program, compiled.registers, np.zeros((SCRATCH_ROWS, max(BLOCK, len(compiled.registers))), np.int64),
        np.array(program.pool or [0], np.int64), heaps, np.zeros(1, np.int64),
        np.zeros(max(compiled.outputs, 1), np.int64)[: compiled.outputs],
        [(came_in, at) for came_in, at, _ in compiled.sources], program.has_filters, partial(fault_of, compiled),
        steps[-1].schema.has_text,
    )  # fmt: skip
