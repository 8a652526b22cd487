"""The entry of a region in Python: in loops, and where texts cannot be copied aside by a kernel."""

import time as clocks
from typing import Any

from tokenring.engine import COMPLETE, Batch, InputPort, OperatorContext, OutputPort, Stream, Token, UnderWay
from tokenring.operators.flow.gate import BYTES, TIMES, Gate, escape, is_first, renew, renew_early, room_for, was_let_in

_LOOKS_AT_ONCE = 64
_WAIT_NS, _MOST_WAIT_NS = 10_000, 500_000


class PythonEntry:
    """Lets in what the gate has room for. What it has taken of its input, and may not send yet, is one message."""

    def __init__(
        self, context: OperatorContext, token: Token, gate: Gate, number: int, region: UnderWay, stream: Stream
    ) -> None:
        """number: of the entry in its gate. stream: what is let in."""
        token.drop()
        context.inspectable(gate.view)
        self._context = context
        self._gate, self._address = gate.state, gate.address
        self._region = region
        self._row_units = 8 * len(stream.schema) if self._gate.unit == BYTES else 1
        self._seen = -1
        self._share = 0
        self._last_time: Any = None
        self._number = number
        self._is_root = stream.scope.depth == 1
        self._looks = 0
        self._escaped = 0
        self._token: Token | None = None
        self._batch: Batch | None = None

    def __call__(self, rows: InputPort, output: OutputPort) -> None:
        """Let in what there is room for; look again while something is held back."""
        run = 0
        gate, address, world = self._gate, self._address, self._region.world
        renew_early(world, address)
        while True:
            if self._seen != gate.generation:
                self._seen, self._share = gate.generation, 0
            if not self._is_first(rows) or self._batch is None:
                break
            room = room_for(address, self._share, run)
            if room <= 0:
                if renew(world, address):
                    continue
                break
            run += self._let_in(output, room)
        if self._batch is None:
            return
        if run:
            self._context.activate()
            return
        units = escape(world, address, clocks.monotonic_ns(), self._escaped) * self._row_units
        self._escaped = gate.escapes
        if units > 0:
            self._let_in(output, units)
        self._looks += 1
        if self._looks < _LOOKS_AT_ONCE:
            self._context.activate()
        else:
            self._context.activate_after(min(_MOST_WAIT_NS, _WAIT_NS * (self._looks - _LOOKS_AT_ONCE + 1)))

    def _let_in(self, output: OutputPort, room: int) -> int:
        """Send what there is room for, one row at least: how much it counts."""
        token, batch = self._token, self._batch
        assert token is not None and batch is not None
        fitting = max(1, room // self._row_units) if self._gate.unit != TIMES else batch.rows
        piece = batch if fitting >= batch.rows else batch.slice(0, fitting)
        units = self._units(token.time, piece.rows)
        output.give(token, piece)
        self._batch = None if piece is batch else batch.slice(fitting, batch.rows)
        time = token.time
        if self._batch is None:
            token.drop()
            self._token = None
        return self._count(time, units)

    def _is_first(self, rows: InputPort) -> bool:
        """Whether nothing earlier waits before another entry, where times can be compared."""
        if self._batch is None:
            for reference, batch in rows:
                self._token, self._batch = reference.retain(), batch
                break
        if not self._is_root:
            return True
        return is_first(self._address, self._number, COMPLETE if self._token is None else self._token.time)

    def _units(self, time: Any, rows: int) -> int:
        return int(time != self._last_time) if self._gate.unit == TIMES else rows * self._row_units

    def _count(self, time: Any, units: int) -> int:
        self._last_time = time
        self._share += units
        self._looks = 0
        was_let_in(self._region.world, self._address, units)
        return units
