"""The NEXMark source: staged columns as timed streams, as fast as they go or each event at its scheduled instant.

Events are dealt to workers in blocks of consecutive events (block k goes to worker k modulo workers), so that all workers are at
about the same event time. A worker's tokens stand at the time of its own next event. At most `outstanding` batches of a worker are
under way beyond the probe: large batches make what follows dearer, and under load that spirals.
"""

import mmap
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import Batch, OperatorContext, OutputPort, Probe, Schema, Scope, Stream, Token, Worker, kernel
from nexmark.latency import Histogram
from nexmark.schema import FLOOR
from nexmark.staged import StagedEvents

_PAGE_RELEASE_BYTES = 1 << 20
_REPORT_NS = 200_000_000
_BEHIND_NS = 1_000_000_000


@dataclass(frozen=True)
class Pace:
    """How events are offered. rate: events a second over all workers, None for as fast as they go. block: consecutive events a
    worker takes in turn, and the most it sends at once. discard_ns: start of an open-loop run that is not measured."""

    events: int
    block: int
    outstanding: int
    rate: float | None = None
    discard_ns: int = 1_000_000_000


@kernel
def rows_before(events, start, event):  # type: ignore[no-untyped-def]
    """The first row from `start` on whose event number is not less than `event`: galloping, since it is near."""
    rows = len(events)
    step, low = 1, start
    while low + step < rows and events[low + step] < event:
        low += step
        step *= 2
    high = min(low + step, rows)
    while low < high:
        middle = (low + high) >> 1
        if events[middle] < event:
            low = middle + 1
        else:
            high = middle
    return low


class _Column:
    """One mapped column, whose pages are given back once they have been read, so that memory does not grow with the stream."""

    def __init__(self, path: Any, rows: int) -> None:
        self._mapping: mmap.mmap | None = None
        self._released = 0
        if rows == 0:
            self.words = np.empty(0, np.int64)
            return
        with open(path, "rb") as file:
            self._mapping = mmap.mmap(file.fileno(), rows * 8, access=mmap.ACCESS_READ)
        self._mapping.madvise(mmap.MADV_SEQUENTIAL)
        self.words = np.frombuffer(self._mapping, np.int64)

    def release_before(self, row: int) -> None:
        """Give back whole pages before `row`."""
        done = row * 8 // mmap.PAGESIZE * mmap.PAGESIZE
        if self._mapping is not None and done - self._released >= _PAGE_RELEASE_BYTES:
            self._mapping.madvise(mmap.MADV_DONTNEED, self._released, done - self._released)
            self._released = done


class _Cursor:
    """One stream's columns on one worker, and how far they have been read."""

    def __init__(self, staged: StagedEvents, name: str, columns: tuple[str, ...]) -> None:
        stream = staged.stream(name)
        rows = stream.rows
        self.schema = Schema(" ".join(columns))
        kept = {
            column: _Column(stream.path(column), rows) for column in dict.fromkeys((*columns, "date_time", "event"))
        }
        if stream.has(FLOOR):
            kept[FLOOR] = _Column(stream.path(FLOOR), rows)
        self._kept = list(kept.values())
        self.columns = tuple(kept[column].words for column in columns)
        self._events = kept["event"].words
        self._times = kept[FLOOR if stream.has(FLOOR) else "date_time"].words
        self._last_times = kept["date_time"].words
        self._sorted = not stream.has(FLOOR)
        self.rows = rows
        self.at = 0

    def seek(self, event: int) -> int:
        """The first row of `event` or later."""
        return int(rows_before(self._events, self.at, event)) if self.rows else 0

    def least_time(self, row: int) -> int | None:
        """The least time from a row on; None past the end."""
        return int(self._times[row]) if row < self.rows else None

    def greatest_time(self, start: int, stop: int) -> int:
        """The greatest time of rows start..stop (at least one)."""
        return int(self._last_times[stop - 1] if self._sorted else self._last_times[start:stop].max())

    def release(self) -> None:
        """Give back the pages before the cursor."""
        for column in self._kept:
            column.release_before(self.at)


class Measurements:
    """What one worker's source saw: events offered, latencies, whether it fell behind."""

    def __init__(self) -> None:
        self.offered = 0
        self.histogram = Histogram()
        self.dnf = False
        self.start_ns = 0


def nexmark_source(
    worker: Worker,
    scope: Scope,
    staged: StagedEvents,
    streams: dict[str, tuple[str, ...]],
    pace: Pace,
    measurements: Measurements,
) -> tuple[tuple[Stream, ...], Callable[[Probe], None]]:
    """Streams of the named columns, and a function to be given the probe that tells when events are done.

    The clock of an open loop starts at `measurements.start_ns` (time.monotonic_ns), to be set before the first step.
    """
    cursors: list[_Cursor] = [_Cursor(staged, name, columns) for name, columns in streams.items()]
    probes: list[Probe] = []
    wake: list[Callable[[], None]] = []

    def construct(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
        wake.append(context.activate)
        return _Feeder(context, worker, cursors, tokens, pace, measurements, probes)

    def attach(probe: Probe) -> None:
        probes.append(probe)
        probe.on_advance(lambda: wake[0]())

    schemas = tuple(cursor.schema for cursor in cursors)
    return scope.source("nexmark", schemas, construct), attach


class _Feeder:
    """The source's logic on one worker; called once a step while there is something to do."""

    def __init__(
        self,
        context: OperatorContext,
        worker: Worker,
        cursors: list[_Cursor],
        tokens: Sequence[Token],
        pace: Pace,
        measurements: Measurements,
        probes: list[Probe],
    ) -> None:
        self._context = context
        self._worker = worker
        self._cursors = cursors
        self._tokens = list(tokens)
        self._pace = pace
        self._measurements = measurements
        self._probes = probes
        self._ns_per_event = 0.0 if pace.rate is None else 1e9 / pace.rate
        self._block_end = 0
        self._event = 0
        self._waiting: deque[tuple[int, int, int]] = deque()  # greatest time, first event, last event
        self._next_report_ns = 0
        self._enter_block(context.worker_index)

    def _enter_block(self, block: int) -> None:
        self._event = min(block * self._pace.block, self._pace.events)
        self._block_end = min(self._event + self._pace.block, self._pace.events)
        for cursor in self._cursors:
            cursor.at = cursor.seek(self._event)

    def __call__(self, *outputs: OutputPort) -> None:
        """Note what is done, send what is due."""
        now_ns = time.monotonic_ns() - self._measurements.start_ns
        if self._waiting:
            self._note_done(now_ns)
        if not self._tokens:
            return
        pace = self._pace
        if self._event >= pace.events:
            self._close()
            return
        if len(self._waiting) >= pace.outstanding:
            if pace.rate is not None:
                self._context.activate()
            return  # the probe will wake us
        if self._context.congested:
            self._context.activate()
            return
        stop = self._block_end
        if pace.rate is not None:
            stop = min(stop, int(now_ns / self._ns_per_event) + 1)
            if stop <= self._event:
                self._wait_for(int(self._event * self._ns_per_event) - now_ns)
                return
        self._send(stop, outputs)
        self._context.activate()
        if now_ns >= self._next_report_ns:
            self._next_report_ns = now_ns + _REPORT_NS
            self._worker.report(self._measurements.offered)

    def _wait_for(self, delay_ns: int) -> None:
        """Come back when the next event is due; soon means spinning."""
        if delay_ns > 300_000:
            self._context.activate_after(delay_ns - 100_000)
        else:
            self._context.activate()

    def _send(self, stop: int, outputs: Sequence[OutputPort]) -> None:
        greatest = -1
        for cursor, token, output in zip(self._cursors, self._tokens, outputs, strict=True):
            start, end = cursor.at, cursor.seek(stop)
            if end > start:
                columns = tuple([column[start:end] for column in cursor.columns])
                output.give(token, Batch.wrap(cursor.schema, columns, end - start))
                greatest = max(greatest, cursor.greatest_time(start, end))
                cursor.at = end
                cursor.release()
        first, self._event = self._event, stop
        self._measurements.offered += stop - first
        if greatest >= 0:
            self._waiting.append((greatest, first, stop - 1))
        if stop == self._block_end and stop < self._pace.events:
            self._enter_block(first // self._pace.block + self._context.peers)
        least: int | None = None
        if self._event < self._pace.events:
            for cursor in self._cursors:
                time_ = cursor.least_time(cursor.at)
                if time_ is not None and (least is None or time_ < least):
                    least = time_
        if least is None:
            self._close()
        else:
            for token in self._tokens:
                token.downgrade(least)

    def _close(self) -> None:
        for token in self._tokens:
            token.drop()
        self._tokens = []

    def _note_done(self, now_ns: int) -> None:
        """Take batches that the probe has passed off the list, and record their latencies."""
        frontier = self._probes[0].frontier
        waiting = self._waiting
        while waiting and waiting[0][0] < frontier:
            _, first, last = waiting.popleft()
            if self._pace.rate is not None:
                due_ns = int(first * self._ns_per_event)
                if due_ns >= self._pace.discard_ns:
                    due_last_ns = int(last * self._ns_per_event)
                    self._measurements.histogram.record(now_ns - due_ns, now_ns - due_last_ns, last - first + 1)
        if self._pace.rate is not None:
            oldest = waiting[0][1] if waiting else self._event
            if now_ns - oldest * self._ns_per_event > _BEHIND_NS and (waiting or self._event < self._pace.events):
                self._measurements.dnf = True
                self._worker.end_early()
        if self._worker.ending and self._tokens:
            self._close()
