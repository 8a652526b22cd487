"""One worker's F of one input: what its kernels read, and which thresholds it asks at."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, Batch, OperatorContext, Probe, Schema
from tokenring.engine.columns import free_name
from tokenring.engine.compiled import Compiled, address_of, link_routing_key
from tokenring.operators.migrate.steer import NEVER, SteerState, steer
from tokenring.operators.migrate.versions import Versions

TO = "#to"
"""The column that rows go by: it does not cross."""


def with_to(schema: Schema) -> Schema:
    """Rows, or a table, with the column that they go by, the last one."""
    return Schema.of(schema.spec() | {free_name(TO, schema.positions): "int64"})


class Steering:
    """One worker's F of one input: its state, and what to do when it asks."""

    def __init__(self, schema: Schema, key: Sequence[str]) -> None:
        """schema: of the rows that come; key: the columns of the operator's key among them."""
        self.schema = with_to(schema)
        self.key = tuple(key)
        self.number = -1
        """Of its operator in the graph (set where that is declared)."""
        self.origin: Probe
        """Of where its rows come from (set likewise)."""
        self.woken: Callable[[], None] = lambda: None
        """Runs it in the next step."""
        self.is_beside = False
        """Whether another input of its operator gets rows that others have routed, and this one does not."""
        self.state = SteerState()
        self._positions = np.array([*range(len(schema)), 0], np.int64)
        state = self.state
        state.width, state.positions = len(schema), address_of(self._positions)
        self._key = link_routing_key(state.key, schema, key)
        state.greatest = state.ask_reached = state.ask_moved = state.ask_known = NEVER

    def compiled(self, context: OperatorContext, versions: Versions, asked: Callable[[], None]) -> Compiled:
        """The operator in the inner loop. asked: called when a threshold was come to, which it is to move."""
        state, self.woken = self.state, context.activate
        state.versions, state.bins = versions.state.address, versions.bins.count
        return Compiled(steer, state.words, (state, versions, self), asked)

    @property
    def is_over(self) -> bool:
        """Whether it keeps the control stream open no more: no rows come. Beside an input that follows others, also
        where rows that have come wait for state to arrive: that may wait for the end of those others (behind an outer
        join, which sends its last rows then), and they for the control stream's."""
        state = self.state
        return bool(
            state.follows or state.reached >= MAX_TIME or (self.is_beside and not self.origin.less_than(MAX_TIME))
        )


def come_to(state: SteerState) -> int:
    """How far the rows of an F in this state are, as the control stream is to know it."""
    reached = 0 if state.follows else state.reached % COMPLETE
    return max(reached, state.greatest)


def with_column(batch: Batch, schema: Schema, column: np.ndarray) -> Batch:
    """The rows with one column more, of int64."""
    heaps = (*batch.heaps, None) if schema.has_text else ()
    return Batch.wrap(schema, (*batch.columns, column), batch.rows, heaps, batch)
