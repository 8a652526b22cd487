"""Engines that break one rule each, for the tests that must notice."""

from __future__ import annotations

from typing import Any

from tests.engine.safety.schedule import Run
from tokenring.engine.data.channel import FeedbackChannel
from tokenring.engine.data.remote_channel import RemoteChannel
from tokenring.engine.progress.change_log import ChangeLog
from tokenring.engine.times.path_summary import identity


def publishes_in_the_middle_of_a_call(run: Run) -> None:
    """Invariant 2: a batch holds all consequences of the actions it reports."""

    def hook(worker_index: int) -> None:
        run.group.workers[worker_index].turns.exchange(True)

    run.mid_call = hook


def forgets_to_count_sent_messages(run: Run) -> None:
    for worker in run.group.workers:
        for channel in worker.plane.channels.values():
            channel._count = lambda time, messages: None  # type: ignore[method-assign]


def stands_still_around_loops(run: Run) -> None:
    """A4: who goes round comes back later."""
    for worker in run.group.workers:
        for operator in worker.inspection.operators:
            for port in operator.outputs:
                for channel in port.channels:
                    if isinstance(channel, FeedbackChannel):
                        channel.onward.summary = identity(port.depth)
        edges = worker.world.edges
        edges["summary"][edges["goes_round"] == 1, 1:] = 0


def sends_before_the_session(run: Run) -> None:
    """Invariant 1: a message goes out at its token's time or later."""
    for worker in run.group.workers:
        for operator in worker.inspection.operators:
            for port in operator.outputs:
                port.channels = [_Hasty(channel) for channel in port.channels]  # type: ignore[misc]


class _Hasty:
    """A channel that sends everything a little earlier."""

    def __init__(self, honest: Any) -> None:
        self._honest = honest

    def push(self, time: Any, batch: Any) -> None:
        self._honest.push(_earlier(time), batch)


def _earlier(time: Any) -> Any:
    return max(0, time - 1) if isinstance(time, int) else tuple(max(0, at - 1) for at in time)


def loses_the_last_change(run: Run) -> None:
    """What is logged must be published, all of it."""
    rng = run.rng

    class Leaky(ChangeLog):
        __slots__ = ()

        def add(self, location: int, time: int, delta: int) -> None:
            if rng.random() < 0.5:
                super().add(location, time, delta)

    for worker in run.group.workers:
        worker.log.__class__ = Leaky


def counts_waiting_rows_as_messages(run: Run) -> None:
    """The wait for room is counted at the target: its support is not strictly before what it lets be sent (A7)."""
    for worker in run.group.workers:
        for channel in worker.plane.channels.values():
            if isinstance(channel, RemoteChannel):
                channel.source_location = channel.inbox.location
