"""Stages that follow each other as one."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    RAISED,
    STAGE_MESSAGE,
    STAGE_ROW,
    STAGE_WORDS,
    CompiledStage,
    address_of,
    call_at,
    entry,
    keys_of,
    rows_of,
    table_at,
    words_at,
)

_PARTS, _PART_COUNT, _WORDS = range(STAGE_WORDS, STAGE_WORDS + 3)
_LOGIC, _STATE, _PART_WORDS = range(3)


@kernel
def _row_before(origin, message, row):  # type: ignore[no-untyped-def]
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
def through_all(world, state):  # type: ignore[no-untyped-def]
    """What the last stage makes of what those before it made."""
    own = words_at(state, _WORDS)
    parts = table_at(own[_PARTS], own[_PART_COUNT], _PART_WORDS)
    origin = message = own[STAGE_MESSAGE]
    for at in range(own[_PART_COUNT]):
        part = words_at(parts[at, _STATE], STAGE_WORDS)
        part[STAGE_MESSAGE] = message
        made = call_at(parts[at, _LOGIC], world, parts[at, _STATE])
        if made == RAISED or made == 0:
            return made
        if made < 0:
            own[STAGE_ROW] = _row_before(origin, message, part[STAGE_ROW])
            return -1 - ((-1 - made) * own[_PART_COUNT] + at)
        if rows_of(made) == 0:
            return 0
        message = made
    return message


def chained(parts: Sequence[CompiledStage]) -> CompiledStage:
    """These stages, of which there is at least one, as one."""
    if len(parts) == 1:
        return parts[0]
    table = np.array([(part.logic.address, address_of(part.state)) for part in parts], np.int64)
    state = np.zeros(_WORDS, np.int64)
    state[_PARTS], state[_PART_COUNT] = address_of(table), len(parts)

    def explain(error: int, row: int) -> Exception:
        number, at = divmod(error, len(parts))
        explained = parts[at].explain
        assert explained is not None, "a stage that fails says why"
        return explained(number, row)

    return CompiledStage(through_all, state, (table, *parts), explain, any([part.has_texts for part in parts]))
