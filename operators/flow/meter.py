"""Meters: stateless functions that hand on what comes and count it, in the worker's inner loop too."""

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.engine.compiled import (
    STAGE_MESSAGE,
    STAGE_WORDS,
    CompiledStage,
    address_of,
    alias_of,
    column_of,
    entry,
    rows_of,
    wake_at,
    words_at,
    world_at,
)
from tokenring.engine.raw import text_bytes
from tokenring.operators.flow.gate import (
    BYTES,
    GATE_WORDS,
    KEEPER,
    KEEPER_IS_UP,
    LARGEST,
    LARGEST_NOW,
    METERED,
    MOST,
    UNIT,
    Gate,
)

# TEXTS: how many columns of text there are whose bytes count; their positions stand behind it.
_GATE, _WIDTH, _UNITS, _TEXTS = range(STAGE_WORDS, STAGE_WORDS + 4)


@entry
def _count(world, state):  # type: ignore[no-untyped-def]
    """Hand a message on as it is."""
    words = words_at(state, _TEXTS + 1)
    message = words[STAGE_MESSAGE]
    gate = words_at(words[_GATE], GATE_WORDS)
    units = rows_of(message) * words[_UNITS]
    for column in words_at(state, _TEXTS + 1 + words[_TEXTS])[_TEXTS + 1 :]:
        units += text_bytes(column_of(message, column))
    gate[METERED] += units
    gate[LARGEST_NOW] = max(gate[LARGEST_NOW], units)
    gate[LARGEST] = max(gate[LARGEST], units)
    if gate[KEEPER] >= 0 and gate[KEEPER_IS_UP] == 0 and 4 * gate[METERED] > gate[MOST]:
        gate[KEEPER_IS_UP] = 1
        wake_at(world, gate[KEEPER], 1)
    return alias_of(world_at(world), message, 0, words[_WIDTH])


class Meter:
    """Counts rows that pass in a gate's words, or, where that counts bytes, those of their columns."""

    def __init__(self, gate: Gate, schema: Schema) -> None:
        self._gate = gate
        self._view = gate.words.data
        self._width = len(schema)
        self._in_bytes = bool(self._view[UNIT] == BYTES)
        texts = [position for position, kind in enumerate(schema.kinds) if kind.is_text]
        self._texts = texts if self._in_bytes else []

    def __call__(self, batch: Batch) -> Batch:
        view = self._view
        units = batch.row_bytes if self._in_bytes else batch.rows
        view[METERED] += units
        if units > view[LARGEST_NOW]:
            view[LARGEST_NOW], view[LARGEST] = units, max(units, view[LARGEST])
        if view[KEEPER] >= 0 and not view[KEEPER_IS_UP] and 4 * view[METERED] > view[MOST]:
            view[KEEPER_IS_UP] = 1
            self._gate.wake_keeper()
        return batch

    def compiled_stage(self) -> CompiledStage:
        """The same in the inner loop."""
        state = np.zeros(_TEXTS + 1 + len(self._texts), np.int64)
        state[_GATE], state[_WIDTH], state[_TEXTS] = address_of(self._gate.words), self._width, len(self._texts)
        state[_UNITS] = 8 * self._width if self._in_bytes else 1
        state[_TEXTS + 1 :] = self._texts
        return CompiledStage(_count, state, (self._gate,))


class Nothing:
    """Hands nothing on, so that who reads it learns of times alone."""

    def __call__(self, batch: Batch) -> None:
        return None

    def compiled_stage(self) -> CompiledStage:
        """The same in the inner loop."""
        return CompiledStage(_drop_all, np.zeros(STAGE_WORDS, np.int64))


@entry
def _drop_all(world, state):  # type: ignore[no-untyped-def]
    """Hand nothing on."""
    return 0
