"""Stages that follow each other as one."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    RAISED,
    CompiledStage,
    Record,
    StageBeginning,
    address_of,
    call_at,
    entry,
    keys_of,
    record_at,
    records_at,
    rows_of,
    words_at,
)


class ChainState(StageBeginning):
    """Where the parts are, and how many."""

    parts: int
    part_count: int


class ChainPart(Record):
    """A stage: its logic's address, and its state's."""

    logic: int
    state: int


@kernel
def _row_before(origin: int, message: int, row: int) -> int:
    """A row's number in the message that `message` was made of, in which rows before it in its time may be missing: one
    that is as far from the first row of that time."""
    if keys_of(message) == 0:
        return row
    keys, before = words_at(keys_of(message), rows_of(message)), words_at(keys_of(origin), rows_of(origin))
    first, start = row, 0
    while first > 0 and keys[first - 1] == keys[row]:
        first -= 1
    while before[start] != keys[row]:
        start += 1
    return start + row - first


@entry
def through_all(world: int, state: int) -> int:
    """What the last stage makes of what those before it made."""
    own = record_at(state, ChainState)
    parts = records_at(own.parts, own.part_count, ChainPart)
    origin = message = own.message
    for at in range(own.part_count):
        part = record_at(parts[at].state, StageBeginning)
        part.message = message
        made = call_at(parts[at].logic, world, parts[at].state)
        if made == RAISED or made == 0:
            return made
        if made < 0:
            own.row = _row_before(origin, message, part.row)
            return -1 - ((-1 - made) * own.part_count + at)
        message = made
    return message


def chained(parts: Sequence[CompiledStage]) -> CompiledStage:
    """These stages, of which there is at least one, as one."""
    if len(parts) == 1:
        return parts[0]
    table = np.array([(part.logic.address, address_of(part.state)) for part in parts], np.int64)
    state = ChainState()
    state.parts, state.part_count = address_of(table), len(parts)

    def explain(error: int, row: int) -> Exception:
        number, at = divmod(error, len(parts))
        explained = parts[at].explain
        assert explained is not None, "a stage that fails says why"
        return explained(number, row)

    return CompiledStage(through_all, state.words, (table, *parts), explain, any([part.has_texts for part in parts]))
