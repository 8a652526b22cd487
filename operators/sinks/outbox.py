"""Results under recovery, in files.

commit="snapshot": every worker writes files under hidden names, which get their own with the snapshot that has the
state from which the rows behind them come (operators/recovery/folder.py). commit="finished": one worker writes a file
as soon as times are finished. Its name says which: after a death, rows of those times come once more, and are left out.
So where the same rows come again, each is there exactly once.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path

from tokenring.engine import (
    COMPLETE,
    Batch,
    Exchange,
    GraphError,
    InputPort,
    OperatorContext,
    Probe,
    RecoveryError,
    Schema,
    Stream,
    Time,
    UsageError,
)
from tokenring.engine.columns import free_name
from tokenring.engine.whole_files import given, hidden, keep, remove_leftovers, sync
from tokenring.operators.expressions import lit
from tokenring.operators.migrate import offer, state_moves
from tokenring.operators.recovery import (
    Saving,
    finished_of,
    have_folder,
    inserted_until,
    outbox_of,
    part_number,
    refused_to,
    require_there,
    tell_last,
)
from tokenring.operators.rows import all_columns, computed, unnamed
from tokenring.operators.sinks.publication import PartWriter, folder_of, require_new, require_outside_loops
from tokenring.operators.state.moving import RowsByTime, times_table

_ENDED = "ended-"
_SHARED = "shared"  # a file of another job was found in the place of one of ours: what is there, nobody can tell


class Outbox:
    """One worker's files: a SavedSink."""

    def __init__(
        self, folder: Path, suffix: str, writer: Callable[[Path, Schema], PartWriter], name: str, known: str,
        into: str = "", columns: Mapping[str, str] = {},
    ) -> None:  # fmt: skip
        """name: the operator's, as errors have it. Others: see SavedSink."""
        self.folder, self.suffix, self.known, self.into, self.columns = folder, suffix, known, into, columns
        self._name = name
        self._writer = writer
        self._numbers = count()
        self._worker = 0
        self._part: PartWriter | None = None
        self._schema: Schema
        self._path = folder
        self._closed: list[tuple[int, str]] = []
        """Files, each with the number of the snapshot that it was closed for; 0: none yet."""

    def begin(self, worker: int) -> None:
        """It is made on a worker."""
        self._worker = worker
        remove_leftovers(self.folder)

    def write(self, time: Time, batch: Batch) -> None:
        """Rows of one message. Where their columns are others than those before them, they go to another file."""
        if self._part is not None and batch.schema != self._schema:
            self.close()
        with refused_to(self._name, self._worker, self.folder):
            if self._part is None:
                self._schema = batch.schema
                self._path = _new_file(self.folder, self._worker, next(self._numbers))
                self._part = self._writer(self._path, batch.schema)
            self._part.write(time, batch)

    def close(self) -> list[str]:
        """No rows come any more: the files that no snapshot is known to have."""
        if self._part is not None:
            with refused_to(self._name, self._worker, self.folder):
                self._part.close()
            self._part = None
            self._closed.append((0, os.fspath(self._path)))
        return [path for _, path in self._closed]

    def cut(self, number: int, before: int) -> list[str]:
        """See SavedSink."""
        self.close()
        for closed_for, path in self._closed:
            if 0 < closed_for <= before:
                given(path)
        left = [(closed_for, path) for closed_for, path in self._closed if not 0 < closed_for <= before]
        self._closed = [(closed_for or number, path) for closed_for, path in left]
        return [path for _, path in self._closed]

    def waiting(self) -> Iterable[Path]:
        """See SavedSink."""
        return self.folder.glob("part-*") if self.into else ()

    def abandon(self) -> None:
        """See SavedSink."""
        self.close()
        for closed_for, path in self._closed:
            if not closed_for:
                Path(path).unlink(missing_ok=True)
            given(path)
        self._closed = []


def _new_file(folder: Path, worker: int, number: int) -> Path:
    """A file of a worker's for a folder, under a hidden name."""
    path = hidden(folder, f"{worker}.{number}")
    keep(path, made=False)
    return path


def _claimed(stream: Stream, folder: str | Path, name: str, saving: Saving, known: str) -> tuple[Path, str]:
    """Where a sink writes, and by which the job knows it. GraphError in a loop, and where another sink has that."""
    require_outside_loops(stream, name)
    target = folder_of(folder, name)
    known = known or str(target)
    _require_one_disk(target, name)
    if {str(target), known} & {*saving.sinks, *saving.finished, *saving.of_worker.all_sinks}:
        raise GraphError(
            f"operator {name!r}: another sink writes to {known}: give each a folder, or a table, of "
            f"its own, or another name="
        )
    return target, known


def _columns(schema: Schema, target: Path, known: str) -> dict[str, str]:
    """Those that a sink's files are to have, whether with nulls or without, which whoever reads a folder does not mind;
    none where the files are the job's, for a table, which has its own."""
    kinds = {name: kind.name for name, kind in zip(schema.names, schema.kinds, strict=True)}
    return kinds if known == str(target) else {}


def _require_one_disk(target: Path, name: str) -> None:
    """UsageError where files that are written beside a folder cannot get their names in it, by a link."""
    if target.is_dir() and _mount_of(target) != _mount_of(target.parent):
        raise UsageError(
            f"operator {name!r}: {target} is on another file system than {target.parent}, where files are hidden until "
            f"they appear: name a folder within it, such as {target / 'results'}"
        )


def _mount_of(folder: Path) -> tuple[int, str]:
    """The file system of a folder, and where it is mounted: nothing is linked from one to another, nor between two
    mounts of one."""
    descriptor = os.open(folder, os.O_PATH)
    try:
        told = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
        return os.fstat(descriptor).st_dev, told.partition("mnt_id:")[2].split()[0]
    finally:
        os.close(descriptor)


def _require_new(target: Path, name: str, saving: Saving, known: str) -> None:
    """The job knows of no such results of a sink: UsageError where there are some, RecoveryError where it knows of
    others, or a sink had some there, and the folder is gone."""
    was = saving.resumed
    of_job = f"the job in {saving.folder.path}" if was is None else f"snapshot {was.number} of {saving.folder.path}"
    if was is not None and known in {*(was.finished_sinks or ()), *[sink["known"] for sink in was.sinks]}:
        raise RecoveryError(
            f"operator {name!r}: {of_job} has sink {known!r} with another commit=: bring that back, or choose another "
            f"folder, or table"
        )
    if saving.folder.had_results_in(target):  # each snapshot would miss it
        require_there(target, saving.folder.path)
    job = saving.folder.path
    if any([target.is_relative_to(own.parent) for own in (outbox_of(job, known), finished_of(job, known))]):
        require_new(target, name, "it is of a sink that was called so before: call this one otherwise, by name=")
    elif was is None and not saving.name:
        require_new(target, name)
    else:  # a run that goes on makes no results of earlier rows again: whoever removes them has lost them.
        require_new(target, name, f"{of_job} has no sink there now, so leave them, and choose another folder")


def deliver(
    stream: Stream,
    folder: str | Path,
    name: str,
    suffix: str,
    writer: Callable[[Path, Schema], PartWriter],
    saving: Saving,
    known: str = "",
    into: str = "",
) -> Probe:
    """Write the stream's rows to files of `folder`, which appear with snapshots, and the last ones at the end. known,
    into: see SavedSink; "": by its folder."""
    target, known = _claimed(stream, folder, name, saving, known)
    if saving.resumed is None or str(target) not in {sink["folder"] for sink in saving.resumed.sinks}:
        _require_new(target, name, saving, known)
    else:
        require_there(target, saving.folder.path)
    outbox = Outbox(target, suffix, writer, name, known, into, _columns(stream.schema, target, known))
    saving.sinks[str(target)] = outbox
    builder = stream.operator(name)
    port = builder.input(stream)
    state_moves(builder)

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        outbox.begin(context.worker_index)
        is_over = False

        def logic(rows: InputPort) -> None:
            nonlocal is_over
            for reference, batch in rows:
                outbox.write(reference.time, batch)
            if rows.frontier == COMPLETE and not is_over:
                is_over = True
                tell_last(saving.of_worker, outbox, outbox.close())

        return logic

    builder.build(construct)
    return builder.probe(port)


def deliver_finished(
    stream: Stream,
    folder: str | Path,
    name: str,
    suffix: str,
    writer: Callable[[Path, Schema], PartWriter],
    saving: Saving,
    known: str = "",
) -> Probe:
    """Write the stream's rows to files of `folder`, one for all times that are finished and were not. known: by which
    the job knows the sink; "": by its folder."""
    target, known = _claimed(stream, folder, name, saving, known)
    graph = stream.scope.graph
    for number in sorted(graph.behind(stream.source, stream.stage)[0] & saving.at_any_times):
        raise GraphError(
            f"operator {name!r}: commit='finished' goes by the times of messages, and those of "
            f"{graph.operators[number].name!r} are not the same each time: after a death rows would be missing, or "
            f"there twice. Leave commit= out"
        )
    saving.finished[known] = _columns(stream.schema, target, known)
    of_job = finished_of(saving.folder.path, known)
    is_anew = bool(saving.name) and saving.resumed is None  # the program may have died before its first snapshot
    if is_anew or not of_job.is_dir():
        if saving.resumed is None or known not in (saving.resumed.finished_sinks or ()):
            _require_new(target, name, saving, known)
        elif target.is_relative_to(of_job):
            raise RecoveryError(
                f"operator {name!r}: {of_job} is gone, and with it results that are to go into a table: put it back, "
                f"or begin anew in another folder"
            )
    else:
        require_there(target, saving.folder.path)
        _require_not_shared(target, of_job, name)
        _require_same_files(target, suffix, name, saving, known)
    have_folder(target)  # first: the other says that it has been there
    have_folder(of_job)
    key = free_name(unnamed("to one worker"), stream.schema.positions)
    keyed = computed(stream, f"{name}.key", all_columns(stream.schema) | {key: lit(0)})
    table = times_table(keyed.schema, (key,))
    builder = keyed.operator(name)
    port = builder.input(keyed, Exchange(key))
    state_moves(builder, [table])

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        remove_leftovers(target)
        waiting = RowsByTime(keyed.schema, table)
        offer(waiting)
        there = finished_until(target)
        parts = count()

        def logic(rows: InputPort) -> None:
            with refused_to(name, context.worker_index, target):
                write(rows)

        def write(rows: InputPort) -> None:
            nonlocal there
            part, path = None, target
            for time, batch in waiting.finished(rows):
                if time < there:
                    continue
                if part is None:
                    path = _new_file(target, context.worker_index, next(parts))
                    part = writer(path, stream.schema)
                part.write(time, batch.select(stream.schema))
                there = time + 1
            if part is not None:
                part.close()
                sync(path)
                try:
                    os.link(path, target / f"part-{there:019d}-00000{suffix}")
                except FileExistsError:
                    (of_job / _SHARED).touch()
                    _require_not_shared(target, of_job, name)
                sync(target)
                given(path)
                path.unlink()
            if rows.frontier == COMPLETE:
                (of_job / f"{_ENDED}{context.worker_index}").touch()

        return logic

    for left in of_job.glob(f"{_ENDED}*"):
        left.unlink(missing_ok=True)
    builder.build(construct)
    return builder.probe(port)


def _require_same_files(target: Path, suffix: str, name: str, saving: Saving, known: str) -> None:
    """RecoveryError for files of another format, of which snapshots say nothing, unless those may go."""
    others = [path for path in target.glob("part-*-00000.*") if path.suffix != suffix]
    if others and known not in saving.of_worker.may_go:
        raise RecoveryError(
            f"operator {name!r}: {target} has files of this job as {others[0].name}, and would get *{suffix} as well: "
            f"bring back what writes *{others[0].suffix}; or choose another folder, and let this one go: --drop {known}"
        )


def _require_not_shared(target: Path, of_job: Path, name: str) -> None:
    """RecoveryError where another job has written to a folder."""
    if (of_job / _SHARED).exists():
        raise RecoveryError(
            f"operator {name!r}: {target} has a file of another job where one of this job is to be: give each job a "
            f"folder of its own, and begin both anew"
        )


def finished_until(folder: Path) -> Time:
    """The time before which all rows are in the files of a folder, or were, and are where these go."""
    numbers = [part_number(path) for path in folder.glob("part-*-00000.*")]
    return max([inserted_until(folder), *numbers])


def has_ended(saving: Saving, known: str, peers: int) -> bool:
    """Whether all workers have written the files of all times."""
    return len([*finished_of(saving.folder.path, known).glob(f"{_ENDED}*")]) == peers
