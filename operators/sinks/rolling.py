"""Rolling files: a stream as files of intervals of time, each of which appears, whole, once its interval is finished.

A file is written under a hidden name and gets its own when the frontier has passed all times in it: nobody sees half a
file, nor one to which rows could still be added. The writer holds a token at the least time that is not in place, so
whoever stands behind it sees by its frontier how far the folder goes.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Literal

import numpy as np

from tokenring.engine import (
    COMPLETE,
    Batch,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Probe,
    Schema,
    SchemaError,
    Stream,
    Time,
    Token,
    UsageError,
    WhenStopped,
)
from tokenring.engine.arguments import folder_at, is_whole
from tokenring.engine.whole_files import given, hidden, keep, remove_leftovers, sync
from tokenring.operators.durations import nanoseconds_of
from tokenring.operators.recovery import refused_to
from tokenring.operators.sinks.publication import PartWriter, make_folder, require_outside_loops, require_own
from tokenring.operators.time import go_by_message_times, position_of

_NOTHING = Schema("nothing")


@dataclass(frozen=True)
class Roll:
    """When a sink begins another file.

    every: the length of the intervals, which begin at multiples of it: "15min" (of ns since 1970), or an integer in the
    unit of the stream's times; 0 for none. rows, bytes: a file that has grown to so many is followed by another (bytes:
    to within a row group); 0 for no limit. time: a column of the rows' own times (int64, uint64 or timestamp) by which
    intervals are told; without it, rows are of their message's time.
    """

    every: str | int = 0
    rows: int = 0
    bytes: int = 0
    time: str | None = None


class _File:
    """One file while it is written, and until it gets its name."""

    __slots__ = ("greatest", "least", "path", "rows", "start", "writer")

    def __init__(self, start: Time, least: Time, path: Path, writer: PartWriter) -> None:
        self.start = start
        """Of the interval, by which it is named."""
        self.least = self.greatest = least
        """Message's times in it."""
        self.path = path
        self.writer: PartWriter | None = writer
        self.rows = 0

    def write(self, time: Time, batch: Batch) -> None:
        """Add rows of one message."""
        assert self.writer is not None
        self.writer.write(time, batch)
        self.rows += batch.rows
        self.least, self.greatest = min(self.least, time), max(self.greatest, time)

    def close(self) -> None:
        """Write the end, and bring all to the disk; once."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None
            sync(self.path)


class _Files:
    """The files that one worker has not put in place."""

    def __init__(self, roll: Roll, every: int, create: Callable[[], tuple[Path, PartWriter]]) -> None:
        self._roll = roll
        self._every = every
        self._create = create
        self._open: dict[Time, _File] = {}
        """That are written to, by the start of their interval."""
        self._full: list[_File] = []

    def write(self, time: Time, start: Time, batch: Batch) -> None:
        """Rows of one message that belong to the interval from `start` on."""
        roll = self._roll
        while batch.rows:
            file = self._open.get(start)
            if file is None:
                file = self._open[start] = _File(start if self._every else time, time, *self._create())
            taken = min(roll.rows - file.rows, batch.rows) if roll.rows else batch.rows
            file.write(time, batch.slice(0, taken))
            batch = batch.slice(taken, batch.rows)
            if file.rows == roll.rows or (roll.bytes and file.path.stat().st_size >= roll.bytes):
                file.close()
                self._full.append(self._open.pop(start))

    def finished(self, frontier: Time) -> list[_File]:
        """Take out the files to which nothing can be added and whose times have all passed, in order, closed."""
        over = [start for start in self._open if frontier == COMPLETE or 0 < self._every <= frontier - start]
        candidates = [*self._full, *[self._open.pop(start) for start in over]]
        self._full = [file for file in candidates if file.greatest >= frontier]
        done = sorted([file for file in candidates if file.greatest < frontier], key=lambda file: file.start)
        for file in done:
            file.close()
        return done

    def least(self) -> Time | None:
        """The least time of a message that is not in place; None if all are."""
        return min([file.least for file in (*self._open.values(), *self._full)], default=None)


def roll_files(
    stream: Stream,
    folder: str | Path,
    roll: Roll,
    name: str,
    suffix: str,
    writer: Callable[[Path, Schema], PartWriter],
) -> Probe:
    """Write the stream's rows to files of `folder`, which may hold files already. The probe has passed a time once all
    rows up to it, of all workers, are in files that are in place.
    """
    require_outside_loops(stream, name)
    what = f"operator {name!r}: roll"
    if not isinstance(roll, Roll):
        raise UsageError(f"{what} is a Roll, such as roll=Roll('1h'), not {roll!r}")
    every = nanoseconds_of(roll.every, what) if isinstance(roll.every, str) else roll.every
    limits = (every, roll.rows, roll.bytes)
    if not all(map(is_whole, limits)) or min(limits) < 0 or not any(limits):
        raise UsageError(f"{what} needs every=, rows= or bytes= as whole numbers above 0, or every='1h', not {roll}")
    every, roll = int(every), replace(roll, rows=int(roll.rows), bytes=int(roll.bytes))
    if roll.time is not None:
        position_of(what, stream.schema, roll.time)
    elif every:
        go_by_message_times(name, stream, "say Roll(..., time=column), or ")
    target = folder_at(f"operator {name!r}", folder)
    require_own(stream, target, name)
    make_folder(target, name)

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        context.when_stopped(WhenStopped.ENDS)
        mark = target / "rolling"
        remove_leftovers(mark)
        begun = count()

        def create() -> tuple[Path, PartWriter]:
            path = hidden(mark, f"{context.worker_index}.{next(begun)}")
            keep(path, made=False)
            return path, writer(path, stream.schema)

        files = _Files(roll, every, create)
        held: Token | None = None

        def logic(rows: InputPort, output: OutputPort) -> None:
            with refused_to(name, context.worker_index, target, "what has appeared stays"):
                go_on(rows)

        def go_on(rows: InputPort) -> None:
            nonlocal held
            for reference, batch in rows:
                if held is None or reference.time < held.time:
                    earlier = reference.retain()
                    if held is not None:
                        held.drop()
                    held = earlier
                for start, part in _by_interval(name, batch, reference.time, every, roll.time):
                    files.write(reference.time, start, part)
            for file in files.finished(rows.frontier):
                named = _instant(file.start, every) if isinstance(roll.every, str) else f"{file.start:019d}"
                _put_in_place(file.path, target, f"{named}-{context.worker_index:05d}", suffix)
            least = files.least()
            if held is not None and least is None:
                held.drop()
                held = None
            elif held is not None and least is not None:
                held.downgrade(max(least, held.time))

        return logic

    return stream.unary(name, _NOTHING, construct, notify=Notify.IF_TOKEN).probe()


def _by_interval(
    name: str, batch: Batch, time: Time, every: int, column: str | None
) -> Iterable[tuple[Time, Batch]]:
    """The rows of a message by the start of their intervals."""
    if not every:
        return [(0, batch)]
    if column is None:
        return [(time // every * every, batch)]
    times = batch.words(column)
    if batch.rows and int(times.min()) < 0:
        row = int(times.argmin())
        what = "null" if batch.nulls(column)[row] else str(times[row])
        raise SchemaError(
            f"operator {name!r}: column {column!r}: the time of a row is {what}, which is in no interval; leave such "
            f"rows out before (filter), or fill them"
        )
    starts = times // every * every
    return [(start, batch.filter(starts == start)) for start in np.unique(starts).tolist()]


def _instant(start: Time, every: int) -> str:
    """An instant in UTC as files are named: 20260601T120000Z, with a fraction where intervals are no whole seconds."""
    unit: Literal["s", "ns"] = "ns" if every % 1_000_000_000 else "s"
    return np.datetime_as_string(np.datetime64(start, "ns"), unit=unit).replace("-", "").replace(":", "") + "Z"


def _put_in_place(path: Path, folder: Path, name: str, suffix: str) -> None:
    """Give a file the first name of its interval that is free: a link replaces nothing, as a rename would."""
    for number in count():
        with suppress(FileExistsError):
            os.link(path, folder / f"{name}-{number:05d}{suffix}")
            break
    os.unlink(path)
    given(path)
    sync(folder)
