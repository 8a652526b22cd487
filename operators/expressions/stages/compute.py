"""Fused stateless operators in the worker's inner loop: the machine's kernel over the columns of a compiled message."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    STAGE_MESSAGE,
    STAGE_ROW,
    STAGE_WORDS,
    CompiledStage,
    address_of,
    addresses_of,
    alias_of,
    bare_message,
    claim,
    entry,
    gathered,
    give_keys,
    keys_of,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.expressions.machine import BLOCK, LOAD, SCRATCH_ROWS, run
from tokenring.operators.state import all_equal

# Words of a stage that computes, with the engine's before them: addresses and sizes of what the machine takes; the
# addresses and number of (whether it came in, its number) of the columns that come out.
(
    _PROGRAM, _LINES, _REGISTERS, _REGISTERS_USED, _SCRATCH, _SCRATCH_WORDS, _POOL, _POOL_WORDS,
    _HEAPS, _HEAPS_USED, _FAULT, _OUTPUTS, _OUTPUTS_USED, _SOURCES, _WIDTH, _FILTERS,
) = range(STAGE_WORDS, STAGE_WORDS + 16)  # fmt: skip
_WORDS = STAGE_WORDS + 16
_LINE_WORDS = 8
_PAD = 8


@kernel
def _is_same_everywhere(own, columns, rows):  # type: ignore[no-untyped-def]
    """Whether each column that the program looks at is one word throughout, such as what `with_arrival` writes."""
    program = table_at(own[_PROGRAM], own[_LINES], _LINE_WORDS)
    for line in range(len(program)):
        if program[line, 0] == LOAD and not all_equal(words_at(columns[program[line, 4]], rows)):
            return False
    return True


@entry
def compute(world, state):  # type: ignore[no-untyped-def]
    """Run the program over a message."""
    own, words = words_at(state, _WORDS), world_at(world)
    message = own[STAGE_MESSAGE]
    rows = rows_of(message)
    columns = addresses_of(message)
    outputs = words_at(own[_OUTPUTS], max(own[_OUTPUTS_USED], 1))
    stride = (rows + _PAD - 1) // _PAD * _PAD * 8
    made = claim(words, stride * own[_OUTPUTS_USED])
    for at in range(own[_OUTPUTS_USED]):
        outputs[at] = made + at * stride
    chosen = words_at(made, 0)
    if own[_FILTERS]:
        chosen = words_at(claim(words, stride), rows)
    fault = words_at(own[_FAULT], 1)
    looked_at = rows
    if rows > 1 and _is_same_everywhere(own, columns, rows):
        looked_at = 1
    found = run(
        table_at(own[_PROGRAM], own[_LINES], _LINE_WORDS), columns, words_at(own[_HEAPS], own[_HEAPS_USED]), outputs,
        table_at(own[_REGISTERS], own[_REGISTERS_USED], BLOCK),
        table_at(own[_SCRATCH], SCRATCH_ROWS, own[_SCRATCH_WORDS]), words_at(own[_POOL], own[_POOL_WORDS]), chosen,
        fault, looked_at,
    )  # fmt: skip
    if found < 0:
        own[STAGE_ROW] = fault[0]
        return found
    if found == 0:
        return 0
    if looked_at < rows:  # of one row, and so of all
        found = rows
        for at in range(own[_OUTPUTS_USED]):
            words_at(outputs[at], rows)[1:] = words_at(outputs[at], 1)[0]
    result = bare_message(words, own[_WIDTH], found)
    target, sources = addresses_of(result), table_at(own[_SOURCES], own[_WIDTH], 2)
    for column in range(own[_WIDTH]):
        at = sources[column, 1]
        if sources[column, 0] == 0:
            target[column] = outputs[at]
        elif found == rows:
            target[column] = columns[at]
        else:
            target[column] = gathered(words, words_at(columns[at], rows), chosen[:found])
    keys = keys_of(message)
    if keys != 0 and found < rows:
        keys = gathered(words, words_at(keys, rows), chosen[:found])
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
    state = np.zeros(_WORDS, np.int64)
    state[_PROGRAM:_OUTPUTS] = (
        *(address_of(program), len(program), address_of(registers), len(registers)),
        *(address_of(scratch), scratch.shape[1], address_of(pool), len(pool)),
        *(address_of(heaps), len(heaps), address_of(fault)),
    )
    state[_OUTPUTS:] = address_of(outputs), len(outputs), address_of(columns), len(columns), filters
    owners = program, registers, scratch, pool, heaps, fault, outputs, columns
    return CompiledStage(compute, state, owners, explain, has_texts)


# Words of a stage that only chooses columns: where their positions are, and how many.
_POSITIONS, _CHOSEN, _PROJECTION_WORDS = range(STAGE_WORDS, STAGE_WORDS + 3)


@entry
def project(world, state):  # type: ignore[no-untyped-def]
    """Pass columns on."""
    own = words_at(state, _PROJECTION_WORDS)
    return alias_of(world_at(world), own[STAGE_MESSAGE], own[_POSITIONS], own[_CHOSEN])


def projecting(positions: Sequence[int]) -> CompiledStage:
    """The stage that passes the columns at these positions on."""
    chosen = np.array(positions, np.int64)
    state = np.zeros(_PROJECTION_WORDS, np.int64)
    state[_POSITIONS], state[_CHOSEN] = address_of(chosen), len(chosen)
    return CompiledStage(project, state, (chosen,))
