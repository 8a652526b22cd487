"""Fused stateless operators in the worker's inner loop: the machine's kernel over the columns of a compiled message."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    CompiledStage,
    StageBeginning,
    Words,
    address_of,
    addresses_of,
    alias_of,
    bare_message,
    entry,
    gathered,
    give_keys,
    keys_of,
    lease,
    record_at,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.expressions.machine import BLOCK, LOAD, SCRATCH_ROWS, run
from tokenring.operators.state import all_equal


class Computing(StageBeginning):
    """Addresses and sizes of what the machine takes; the addresses of the columns that are made; whether each of those
    that come out came in, and its number (`sources`), and how many these are; whether the program filters."""

    program: int
    lines: int
    registers: int
    registers_used: int
    scratch: int
    scratch_words: int
    pool: int
    pool_words: int
    heaps: int
    heaps_used: int
    fault: int
    outputs: int
    outputs_used: int
    sources: int
    width: int
    filters: int


_LINE_WORDS = 8
_PAD = 8


@kernel
def _is_same_everywhere(own: Computing, columns: Words, rows: int) -> bool:
    """Whether each column that the program looks at is one word throughout, such as what `with_arrival` writes."""
    program = table_at(own.program, own.lines, _LINE_WORDS)
    for line in range(len(program)):
        if program[line, 0] == LOAD and not all_equal(words_at(columns[program[line, 4]], rows)):
            return False
    return True


@entry
def compute(world: int, state: int) -> int:
    """Run the program over a message."""
    own, graph = record_at(state, Computing), world_at(world)
    message = own.message
    rows = rows_of(message)
    columns = addresses_of(message)
    outputs = words_at(own.outputs, max(own.outputs_used, 1))
    stride = (rows + _PAD - 1) // _PAD * _PAD * 8
    made = lease(graph, stride * own.outputs_used)
    for at in range(own.outputs_used):
        outputs[at] = made + at * stride
    chosen = words_at(made, 0)
    if own.filters != 0:
        chosen = words_at(lease(graph, stride), rows)
    fault = words_at(own.fault, 1)
    looked_at = rows
    if rows > 1 and _is_same_everywhere(own, columns, rows):
        looked_at = 1
    found = run(
        table_at(own.program, own.lines, _LINE_WORDS), columns, words_at(own.heaps, own.heaps_used), outputs,
        table_at(own.registers, own.registers_used, BLOCK),
        table_at(own.scratch, SCRATCH_ROWS, own.scratch_words), words_at(own.pool, own.pool_words), chosen,
        fault, looked_at,
    )  # fmt: skip
    if found < 0:
        own.row = fault[0]
        return found
    if found == 0:
        return 0
    if looked_at < rows:  # of one row, and so of all
        found = rows
        for at in range(own.outputs_used):
            words_at(outputs[at], rows)[1:] = words_at(outputs[at], 1)[0]
    result = bare_message(graph, own.width, found)
    target, sources = addresses_of(result), table_at(own.sources, own.width, 2)
    for column in range(own.width):
        at = sources[column, 1]
        if sources[column, 0] == 0:
            target[column] = outputs[at]
        elif found == rows:
            target[column] = columns[at]
        else:
            target[column] = gathered(graph, words_at(columns[at], rows), chosen[:found])
    keys = keys_of(message)
    if keys != 0 and found < rows:
        keys = gathered(graph, words_at(keys, rows), chosen[:found])
    give_keys(result, keys)
    return result


def computing(
    program: np.ndarray,
    registers: np.ndarray,
    scratch: np.ndarray,
    pool: np.ndarray,
    heaps: np.ndarray,
    fault: np.ndarray,
    outputs: np.ndarray,
    sources: Sequence[tuple[bool, int]],
    filters: bool,
    explain: Callable[[int, int], Exception],
    has_texts: bool,
) -> CompiledStage:
    """The stage of a program: the arguments of `run`; of each column that comes out whether it is one that came in, and
    its number; and whether one is text."""
    columns = np.array(sources, np.int64).reshape(-1, 2)
    state = Computing()
    state.program, state.lines = address_of(program), len(program)
    state.registers, state.registers_used = address_of(registers), len(registers)
    state.scratch, state.scratch_words = address_of(scratch), scratch.shape[1]
    state.pool, state.pool_words = address_of(pool), len(pool)
    state.heaps, state.heaps_used = address_of(heaps), len(heaps)
    state.fault, state.filters = address_of(fault), filters
    state.outputs, state.outputs_used = address_of(outputs), len(outputs)
    state.sources, state.width = address_of(columns), len(columns)
    owners = program, registers, scratch, pool, heaps, fault, outputs, columns
    return CompiledStage(compute, state.words, owners, explain, has_texts)


class Projecting(StageBeginning):
    """Where the positions of the columns are that are chosen, and how many."""

    positions: int
    chosen: int


@entry
def project(world: int, state: int) -> int:
    """Pass columns on."""
    own = record_at(state, Projecting)
    return alias_of(world_at(world), own.message, own.positions, own.chosen)


def projecting(positions: Sequence[int]) -> CompiledStage:
    """The stage that passes the columns at these positions on."""
    chosen = np.array(positions, np.int64)
    state = Projecting()
    state.positions, state.chosen = address_of(chosen), len(chosen)
    return CompiledStage(project, state.words, (chosen,))
