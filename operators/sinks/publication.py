"""Publication: every worker writes a part under a hidden name; a folder of all appears at once, when the run was right.

Two operators. Each worker's writer holds its token until its part is closed and on the disk, and then sends one row
that names the part. The publisher is whichever worker these rows go to; once its frontier is complete, every worker has
closed its part, and it moves the parts to one folder, still hidden. That gets its name from the launcher when all
workers have ended rightly, so a run that fails or is killed before, even elsewhere, publishes nothing. What it leaves
carries the pid and start time of its worker, by which the next run that writes to the same folder knows it for dead and
removes it.
"""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal, Protocol

import numpy as np

from tokenring.engine import (
    COMPLETE,
    Batch,
    Exchange,
    GraphError,
    InputPort,
    OperatorContext,
    OutputPort,
    Probe,
    Schema,
    Stream,
    Time,
    Token,
    UsageError,
    WhenStopped,
)
from tokenring.engine.arguments import folder_at
from tokenring.engine.columns import is_one_of
from tokenring.engine.whole_files import given, hidden, keep, remove_leftovers, sync
from tokenring.operators.migrate import Leaving, Table, offer, state_moves
from tokenring.operators.recovery import refused_to

_PART = Schema("publisher worker", path="string")
_PART_DIGITS = 20  # by which a worker's files are told apart, at most
_FINISHED = "finished"
_NOTHING_SHOWN = "nothing has appeared, so run it again then"
Commit = Literal["snapshot", "finished"]
"""When results under recovery appear."""


class PartWriter(Protocol):
    """Writes one worker's part."""

    def write(self, time: Time, batch: Batch) -> None:
        """Rows of one message, which may be views that die with the call."""

    def advance(self, frontier: Time) -> None:
        """Nothing before `frontier` comes any more. Called behind a call's rows if the frontier has moved."""

    def close(self) -> None:
        """Nothing comes any more: leave a whole file."""


PartOf = Callable[[Path, Schema, OperatorContext], PartWriter]
"""What begins a worker's part."""


def publish(stream: Stream, folder: str | Path, name: str, suffix: str, writer: PartOf) -> Probe:
    """Write the stream's rows to parts of `folder`, which must not exist yet, or be empty. The probe is done once all
    parts are whole and on the disk.
    """
    require_outside_loops(stream, name)
    target = folder_of(folder, name)
    require_own(stream, target, name)
    require_new(target, name)

    def collect(context: OperatorContext) -> Callable[[InputPort], None]:
        paths: list[tuple[int, Path]] = []
        context.when_stopped(WhenStopped.ENDS)
        offer(_MovingPaths(paths))

        def logic(parts: InputPort) -> None:
            for _, batch in parts:
                paths.extend(zip(batch["worker"].tolist(), map(Path, batch["path"].tolist()), strict=True))
            if parts.frontier == COMPLETE and paths:
                context.publish(_together([path for _, path in sorted(paths)], target, suffix), target)
                paths.clear()

        return logic

    written = write_parts(stream, target, name, writer)
    builder = written.operator(f"publish {name}")
    port = builder.input(written, Exchange("publisher"))
    state_moves(builder, [Table(_PART, ("publisher",))])
    builder.build(collect)
    return builder.probe(port)


def write_parts(stream: Stream, target: Path, name: str, writer: PartOf) -> Stream:
    """Write the stream's rows to parts under names hidden beside `target`. The stream that is returned has a row of
    each, `path`, once it is whole and on the disk."""
    schema, beside = stream.schema, target.parent

    def write(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        remove_leftovers(target)
        context.when_stopped(WhenStopped.ENDS)
        path = hidden(target, context.worker_index)
        with refused_to(name, context.worker_index, beside, _NOTHING_SHOWN):
            keep(path, made=False)
            part = writer(path, schema, context)
        seen: Time = 0
        is_whole = False

        def let_go() -> None:
            if not is_whole:  # the dataflow was cancelled, or has failed; what is whole is the publisher's
                given(path)
                path.unlink(missing_ok=True)

        context.when_released(let_go)

        def logic(rows: InputPort, parts: OutputPort) -> None:
            with refused_to(name, context.worker_index, beside, _NOTHING_SHOWN):
                go_on(rows, parts)

        def go_on(rows: InputPort, parts: OutputPort) -> None:
            nonlocal seen, is_whole
            for reference, batch in rows:
                part.write(reference.time, batch)
            frontier = rows.frontier
            if frontier != seen:
                seen = frontier
                part.advance(frontier)
                if frontier < COMPLETE:  # so that a move of bins finds the publisher abreast
                    token.downgrade(frontier)
            if frontier == COMPLETE and token.live:
                part.close()
                sync(path)
                is_whole = True
                parts.give(token, {"publisher": [0], "worker": [context.worker_index], "path": [str(path)]})
                token.drop()

        return logic

    return stream.unary(name, _PART, write)


class _MovingPaths:
    """The parts that a publisher knows of, as they move with the one key that there is."""

    def __init__(self, paths: list[tuple[int, Path]]) -> None:
        self._paths = paths

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        leaves = self._paths if leaving.words(np.zeros(1, np.int64))[0] else []
        workers, paths = [worker for worker, _ in leaves], [str(path) for _, path in leaves]
        leaves.clear()
        return [Batch(_PART, {"publisher": [0] * len(paths), "worker": workers, "path": paths})]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        workers, paths = tables[0]["worker"].tolist(), tables[0]["path"].tolist()
        self._paths.extend(zip(workers, map(Path, paths), strict=True))
        return COMPLETE


def checked_commit(commit: str, name: str, is_saved: bool) -> bool:
    """Whether results are to appear as soon as their times are finished. UsageError for what `commit` cannot be;
    GraphError for that without recovery."""
    if not is_one_of(commit, ("snapshot", _FINISHED)):
        raise UsageError(f'operator {name!r}: commit is "snapshot" or "{_FINISHED}", not {commit!r}')
    if commit == _FINISHED and not is_saved:
        raise GraphError(
            f"operator {name!r}: commit= says when results appear under recovery: leave it out, or run with recovery="
        )
    return commit == _FINISHED


def folder_of(folder: str | Path, name: str) -> Path:
    """The absolute path of a sink's folder. UsageError for what is none, and for one whose name is too long."""
    target = folder_at(f"operator {name!r}", folder)
    try:
        os.lstat(hidden(target, "0" * _PART_DIGITS))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(
                f"operator {name!r}: {error.strerror}: {target}, whose files are hidden under longer names until they "
                f"are whole; choose a shorter one"
            ) from None
    return target


class _Folders(set[Path]):
    """To which sinks of a dataflow write."""


def require_own(stream: Stream, target: Path, name: str) -> None:
    """GraphError where another sink of the dataflow writes to a folder."""
    folders = stream.scope.kept(_Folders)
    if target in folders:
        raise GraphError(f"operator {name!r}: another sink writes to {target}: give each a folder of its own")
    folders.add(target)


def require_new(target: Path, name: str, cure: str = "remove it, or choose another folder") -> None:
    """Raise UsageError, which says the cure, where there is something already; before any worker writes."""
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise UsageError(f"operator {name!r}: {target} exists already; {cure}")
    make_beside(target, name)


def require_outside_loops(stream: Stream, name: str) -> None:
    """GraphError for a sink of files or tables in a loop."""
    scope = stream.scope
    if scope.depth > 1:
        raise GraphError(f"operator {name!r} cannot write from {scope.describe()}: {scope.way_out}")


def make_beside(target: Path, name: str) -> None:
    """Make the folder that a target, and what is hidden beside it, are to be in; raises what `make_folder` does."""
    make_folder(target.parent, name)


def make_folder(folder: Path, name: str) -> None:
    """Make a folder for files, if it is not there. UsageError, naming the operator and it, if no file can be in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        is_none = error.errno == errno.ENOENT and folder.is_dir()
        why = "no file or folder can be made in it" if is_none else error.strerror
        raise UsageError(f"operator {name!r}: cannot write to {folder}: {why}; choose another folder") from None


def _together(parts: Sequence[Path], target: Path, suffix: str) -> Path:
    """Give the parts their names, in a folder that has yet to get its own."""
    folder = hidden(target, "all")
    folder.mkdir()
    keep(folder)
    for number, part in enumerate(parts):
        os.rename(part, folder / f"part-{number:05d}{suffix}")
        given(part)
    sync(folder)
    sync(target.parent)
    return folder
