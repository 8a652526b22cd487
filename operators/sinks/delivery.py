"""Delivery: results under recovery that go out of the job's folder, into a database or a table, exactly once.

Rows go into files first, which appear in the job's folder with the snapshot that has the state behind them. Worker 0
brings them to their destination, snapshot by snapshot. The destination says itself up to which snapshot it has them, in
the same transaction that has the rows: so whoever goes on, after whatever death, knows what is there.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokenring.engine import (
    COMPLETE,
    Batch,
    Notify,
    OperatorContext,
    OutputPort,
    Probe,
    RecoveryError,
    Schema,
    Stream,
    Token,
    UsageError,
)
from tokenring.operators.migrate import state_moves
from tokenring.operators.recovery import (
    OneMore,
    Saving,
    finished_of,
    inserted_until,
    outbox_of,
    part_number,
    refused_to,
    say_inserted,
)
from tokenring.operators.sinks.gather import opened
from tokenring.operators.sinks.outbox import deliver, deliver_finished, has_ended
from tokenring.operators.sinks.publication import PartWriter

if TYPE_CHECKING:
    import pyarrow as pa

NOTHING = Schema("nothing")
_LOOK_NS = 50_000_000


class Destination(Protocol):
    """Where results go, from worker 0."""

    says: str
    """How an error begins that tells up to which snapshot it has results: "'this' says that table 'that'"."""
    cure: str
    """What to do where that is not as the job has left it."""
    again_ns: int
    """How long from one `take` to the next."""
    parts: "pa.Schema"
    """Of the files that it takes."""
    at_once: bool
    """Whether it takes, in one transaction, the results of however many numbers, and so has all of one or none."""

    def prepare(self) -> int:
        """Make it ready; up to which snapshot it has results of this job's sink, 0 if none."""

    def take(self, number: int, paths: Sequence[Path]) -> bool:
        """Take results of a snapshot; whether all of them are in."""

    def rest(self) -> None:
        """There is nothing to take for now."""


def to_first(batch: Batch) -> np.ndarray:
    """A Route's function: all rows to worker 0."""
    return np.zeros(batch.rows, np.int64)


def deliver_to(
    destination: Destination,
    stream: Stream,
    name: str,
    sink: str,
    into: str,
    writer: Callable[[Path, Schema], PartWriter],
    saving: Saving,
    finished: bool = False,
) -> Probe:
    """Bring the stream's rows to a destination. sink: by which it knows them; into: what it is called. finished: not
    with snapshots, whose numbers it is told, but as soon as times are finished: it is told the first that is not.
    UsageError where the file system has no folder of so long a name."""
    own = finished_of(saving.folder.path, sink) if finished else outbox_of(saving.folder.path, sink)
    most = os.pathconf(saving.folder.path, "PC_NAME_MAX")
    if len(own.name) > most:
        raise UsageError(
            f"operator {name:.40}...: under recovery a folder is called by its name, as {own.name:.60}..., in "
            f"{len(own.name)} bytes; there are {most}: give it a shorter name="
        )
    if finished:
        folder = own / "parts"
        written = deliver_finished(stream, folder, name, ".arrow", writer, saving, sink)
    else:
        folder = own
        written = deliver(stream, folder, name, ".arrow", writer, saving, sink, into)
    delivery = _Delivery(destination, folder, sink, saving, finished)
    builder = stream.scope.operator(f"{name}.delivered", Notify.NEVER)
    builder.output(NOTHING)
    state_moves(builder)

    def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        """The token keeps the run from ending before all is there."""
        if context.worker_index:
            token.drop()
            return lambda output: None
        last = OneMore(saving.folder.path)  # the snapshot that has all results: the end of the run waits for it

        def let_go() -> None:
            destination.rest()
            last.forget()

        context.when_released(let_go)
        delivery.begin()
        is_over = partial(has_ended, saving, sink, context.peers) if finished else last.number

        def logic(output: OutputPort) -> None:
            with refused_to(name, context.worker_index, saving.folder.path):
                go_on()

        def go_on() -> None:
            if token.live:
                is_last = written.frontier == COMPLETE and bool(is_over())  # asked before the look at what has appeared
                if delivery.step():
                    context.activate_after(destination.again_ns)
                elif is_last:
                    token.drop()
                else:
                    context.activate_after(_LOOK_NS)

        return logic

    builder.build(construct)
    return written


class _Delivery:
    """What brings files that have appeared to a destination."""

    def __init__(self, destination: Destination, folder: Path, sink: str, saving: Saving, finished: bool) -> None:
        self._destination = destination
        self._folder, self._sink, self._saving, self._finished = folder, sink, saving, finished
        self._taken: tuple[int, list[Path]] | None = None
        """A number and files of which the destination has begun to take the results."""

    def begin(self) -> None:
        """Make the destination ready. RecoveryError where it is not as this job has left it, and for rows of other
        columns that wait."""
        self._require_same_columns()
        snapshot = self._destination.prepare()
        resumed = 0 if self._saving.resumed is None else self._saving.resumed.number
        inserted = inserted_until(self._folder)
        if self._finished:
            if snapshot < inserted:
                raise RecoveryError(
                    f"operator {self._sink!r}: {self._destination.says} has the results of times before {snapshot} of "
                    f"job {self._saving.job}; this run has inserted those of times before {inserted}: "
                    f"{self._destination.cure}, or begin anew in another folder"
                )
            if self._destination.at_once:
                self._forget(snapshot)
            return
        if snapshot > resumed or snapshot < inserted:
            raise RecoveryError(
                f"operator {self._sink!r}: {self._destination.says} has the results up to snapshot {snapshot} of job "
                f"{self._saving.job}; this run goes on from snapshot {resumed}, and has inserted up to {inserted}: "
                f"{self._destination.cure}, or begin anew in another folder"
            )

    def _require_same_columns(self) -> None:
        wanted = self._destination.parts
        for _, path in self._parts():
            waiting = opened(path).schema
            if not waiting.equals(wanted):
                raise RecoveryError(
                    f"operator {self._sink!r}: rows ({', '.join(waiting.names)}) wait in {path} to be inserted, and "
                    f"this program's are ({', '.join(wanted.names)}), of other kinds or columns: let the program that "
                    f"they are of run until they are in, or call this sink otherwise by name="
                )

    def step(self) -> bool:
        """Bring on some of what has appeared, and remove what is there; False if there is nothing."""
        self._taken = self._taken or self._next()
        if self._taken is None:
            self._destination.rest()
            return False
        number, paths = self._taken
        if number <= inserted_until(self._folder) or self._destination.take(number, paths):
            self._forget(number)
            self._taken = None
        return True

    def _next(self) -> tuple[int, list[Path]] | None:
        """What is to be taken next: a number, and the files of it, or, at once, of those up to it; None: nothing."""
        until = self._appeared_until()  # asked before the look at files, some of which may appear during it
        parts = defaultdict(list)
        for number, path in self._parts():
            if number <= until:
                parts[number].append(path)
        if not parts:
            return None
        if self._finished and self._destination.at_once:
            return max(parts), [path for number in sorted(parts) for path in parts[number]]
        number = min(parts)
        return number, parts[number]

    def _appeared_until(self) -> int:
        """Up to which number all files have appeared."""
        if self._finished:  # one worker lets them appear in the order of their numbers
            return max([number for number, _ in self._parts()], default=0)
        return self._saving.folder.whole

    def _parts(self) -> list[tuple[int, Path]]:
        """The files that wait, each with its number: by that, and those of one worker in the order of their rows."""
        found = [(part_number(path), path) for path in self._folder.glob("part-*.arrow")]
        return sorted(found, key=lambda one: (one[0], len(one[1].name), one[1].name))

    def _forget(self, number: int) -> None:
        """All results up to a number are in."""
        say_inserted(self._folder, number)  # first, since rows are counted as they stand in all files
        for its, path in self._parts():
            if its <= number:
                path.unlink()
