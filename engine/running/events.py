"""The engine's log of what it does: operators' runs, exchanges of progress, sleeps. Nothing is paid while it is off.

Turned on, it stands between the worker and its own ways to exchange and to sleep, and before its operators' calls.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tokenring.engine.progress import CHANGE_BYTES, ChangeLog
from tokenring.engine.running.dataflows import Dataflows, RunningDataflow
from tokenring.engine.running.operator import RunningOperator


class Event(NamedTuple):
    """Something that a worker did."""

    at_ns: int
    """When it ended, since 1970; never before the one that was noted before."""
    event: str
    """"run" of an operator, "exchange" of progress, "park": asleep until woken."""
    dataflow: str | None
    operator: str | None
    took_ns: int
    messages: int
    """That waited at an operator's inputs when it ran; or changes of counts that were exchanged."""
    rows: int
    """Of these messages."""


class EventLog:
    """What one worker did since it was last asked. Memory: its events, until they are taken."""

    def __init__(
        self, log: ChangeLog, dataflows: Dataflows, exchange: Callable[[bool], int], park: Callable[[float], None]
    ) -> None:
        """exchange, park: the worker's own ways, in whose place it calls those of this log from now on."""
        self._log = log
        self._dataflows = dataflows
        self._events: list[Event] = []
        self._latest_ns = 0
        self._readers: set[RunningOperator] = set()
        self._compiled: dict[int, tuple[str, str]] = {}  # dataflow and name, by row
        self._exchange = exchange
        self._park = park
        dataflows.watchers.append(self)
        for dataflow in dataflows.running:
            self.watch(dataflow)

    def add_reader(self, operator: RunningOperator) -> None:
        """An operator that takes events: what its dataflow does is no event, or the log would speak of itself alone."""
        self._readers.add(operator)
        for dataflow in self._dataflows.running:
            if operator in dataflow.operators:  # which is built just now, and was watched when this log began
                for each in dataflow.operators:
                    self._compiled.pop(each.compiled, None)

    def watch(self, dataflow: RunningDataflow) -> None:
        """Note the runs of a dataflow's operators from now on."""
        if self._readers.isdisjoint(dataflow.operators):
            for operator in dataflow.operators:
                if operator.compiled >= 0:
                    self._compiled[operator.compiled] = dataflow.name, operator.name
                elif not operator.is_relay:
                    operator.logic = self._noted(dataflow.name, operator, operator.logic)

    def forget(self, dataflow: RunningDataflow) -> None:
        """It runs no more."""
        self._readers.difference_update(dataflow.operators)
        for operator in dataflow.operators:
            self._compiled.pop(operator.compiled, None)

    def ran(self, row: int, took_ns: int, messages: int, rows: int) -> None:
        """A compiled operator ran."""
        if row in self._compiled:
            self.add("run", took_ns, messages, rows, *self._compiled[row])

    def _noted(self, dataflow: str, operator: RunningOperator, logic: Callable[..., None]) -> Callable[..., None]:
        def noted(*ports: Any) -> None:
            waiting = [entry[1].rows for port in operator.inputs for entry in port.inbox.queue]
            began_ns = time.monotonic_ns()
            logic(*ports)
            self.add("run", time.monotonic_ns() - began_ns, len(waiting), sum(waiting), dataflow, operator.name)

        return noted

    def exchange(self, sent: bool) -> int:
        """Exchange progress, and note it."""
        changes = self._log.offset // CHANGE_BYTES
        began_ns = time.monotonic_ns()
        flags = self._exchange(sent)
        if sent or flags or changes:
            self.add("exchange", time.monotonic_ns() - began_ns, changes, 0, None, None)
        return flags

    def park(self, limit_s: float) -> None:
        """Sleep, and note it."""
        began_ns = time.monotonic_ns()
        self._park(limit_s)
        self.add("park", time.monotonic_ns() - began_ns, 0, 0, None, None)

    def add(
        self, event: str, took_ns: int, messages: int, rows: int, dataflow: str | None, operator: str | None
    ) -> None:
        """Note an event that ends now."""
        self._events.append(Event(self.now_ns(), event, dataflow, operator, took_ns, messages, rows))

    def now_ns(self) -> int:
        """The wall clock, which does not go back here."""
        self._latest_ns = max(self._latest_ns, time.time_ns())
        return self._latest_ns

    def take(self) -> list[Event]:
        """The events since the last call, in order."""
        events, self._events = self._events, []
        return events

    @property
    def only_readers_run(self) -> bool:
        """Whether no dataflow is left but those that read the log."""
        return all(not self._readers.isdisjoint(dataflow.operators) for dataflow in self._dataflows.running)
