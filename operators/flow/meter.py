"""Meters: stateless functions that hand on what comes and count it, in the worker's inner loop too."""

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.engine.compiled import (
    CompiledStage,
    StageBeginning,
    alias_of,
    column_of,
    entry,
    record_at,
    rows_of,
    wake_at,
    words_at,
    world_at,
)
from tokenring.engine.raw import text_bytes
from tokenring.operators.flow.gate import BYTES, Gate, GateState


class MeterState(StageBeginning):
    """`gate`: where the gate's state is; `units`: how much a row counts; `texts`: how many columns of text there are
    whose bytes count; their positions stand behind it."""

    gate: int
    width: int
    units: int
    texts: int


_STATE_WORDS = MeterState.size


@entry
def _count(world: int, state: int) -> int:
    """Hand a message on as it is."""
    own = record_at(state, MeterState)
    message, gate = own.message, record_at(own.gate, GateState)
    units = rows_of(message) * own.units
    for column in words_at(state, _STATE_WORDS + own.texts)[_STATE_WORDS:]:
        units += text_bytes(column_of(message, column))
    gate.metered += units
    gate.largest_now = max(gate.largest_now, units)
    gate.largest = max(gate.largest, units)
    if gate.keeper >= 0 and gate.keeper_is_up == 0 and 4 * gate.metered > gate.most:
        gate.keeper_is_up = 1
        wake_at(world, gate.keeper, 1)
    return alias_of(world_at(world), message, 0, own.width)


class Meter:
    """Counts rows that pass in a gate's words, or, where that counts bytes, those of their columns."""

    def __init__(self, gate: Gate, schema: Schema) -> None:
        self._gate = gate
        self._state = gate.state
        self._width = len(schema)
        self._in_bytes = bool(self._state.unit == BYTES)
        texts = [position for position, kind in enumerate(schema.kinds) if kind.is_text]
        self._texts = texts if self._in_bytes else []

    def __call__(self, batch: Batch) -> Batch:
        gate = self._state
        units = batch.row_bytes if self._in_bytes else batch.rows
        gate.metered += units
        if units > gate.largest_now:
            gate.largest_now, gate.largest = units, max(units, gate.largest)
        if gate.keeper >= 0 and not gate.keeper_is_up and 4 * gate.metered > gate.most:
            gate.keeper_is_up = 1
            self._gate.wake_keeper()
        return batch

    def compiled_stage(self) -> CompiledStage:
        """The same in the inner loop."""
        words = np.zeros(_STATE_WORDS + len(self._texts), np.int64)
        state = MeterState(words)
        state.gate, state.width, state.texts = self._gate.address, self._width, len(self._texts)
        state.units = 8 * self._width if self._in_bytes else 1
        words[_STATE_WORDS:] = self._texts
        return CompiledStage(_count, words, (self._gate,))


class Nothing:
    """Hands nothing on, so that who reads it learns of times alone."""

    def __call__(self, batch: Batch) -> None:
        return None

    def compiled_stage(self) -> CompiledStage:
        """The same in the inner loop."""
        return CompiledStage(_drop_all, StageBeginning().words)


@entry
def _drop_all(world: int, state: int) -> int:
    """Hand nothing on."""
    return 0
