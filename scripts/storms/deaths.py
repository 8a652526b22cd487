"""Deaths under recovery: workers, copies that write, and launchers are killed and stopped, files of snapshots damaged,
and what a query has written to any sink in the end are the rows of a run that nobody disturbed.

`python -m scripts.storms.deaths QUERY STAGED JOB OUT SINK COMMIT BINS WORKERS` is the run that dies: with BINS, state
lies in so many, which go from worker to worker all the time. What INSTALLED writes is installed while it runs, again
and again until a snapshot has it.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random, randrange
from threading import Thread
from typing import Any

import orjson
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from examples.nexmark_views.queries import QUERIES
from scripts.benchmarks.references.processes import Files
from scripts.benchmarks.road_programs import PROGRAMS, Events
from scripts.storms.setting import WATCHDOG_S, Setting
from tests.crash.group import ROOT
from tests.operators.sinks.delta_log import files_of
from tokenring import (
    MINUTE,
    SECOND,
    Batch,
    Collection,
    Count,
    Max,
    Recovery,
    Schema,
    Scope,
    Stream,
    Sum,
    Tumbling,
    UsageError,
    Worker,
    as_rows,
    col,
    execute,
    run,
)
from tokenring.operators.recovery import JobFolder, tables

_EVERY = "60ms"
_MESSAGE_S = 0.004  # that each message takes, so that there is a middle
_MOST_RUNS = 12
_LOGS, _LINES, _END = ("north.log", "south-west.log"), 300, b"end\n"
_VIEWS = {f"view {name}": query for name, query in QUERIES.items()}
Row = dict[str, Any]
_ANSWERS: dict[str, list[Row]] = {}


@dataclass(frozen=True)
class TimedEvents(Events):
    """The streams with their times, in small messages."""

    pause_s: float = 0.0

    def _read(self, stream: str, columns: str, time_column: str | int) -> Stream:
        return self._timed(stream, columns).select(*columns.split())

    def updates(self, stream: str, columns: str) -> Collection:
        """Rows that are there from the end of their second on."""
        end = col("date_time") // SECOND * SECOND + SECOND
        return self._timed(stream, columns).select(*columns.split(), end=end).collection(time="end")

    def _timed(self, stream: str, columns: str) -> Stream:
        read = [*dict.fromkeys([*columns.split(), "date_time"])]
        rows = self.scope.read_parquet(self.files.of(stream), columns=read, time="date_time", batch_rows=64)
        return rows.inspect(self._pause) if self.pause_s else rows

    def _pause(self, batch: Batch, at: int) -> None:
        time.sleep(self.pause_s)


def _without_bids(events: Events) -> Stream:
    """How many auctions of each minute nobody bids for."""
    auctions = events.auctions("id date_time", time="date_time")
    alone = auctions.join(events.bids("auction"), on={"id": "auction"}, how="anti")
    return alone.aggregate(window=Tumbling("date_time", MINUTE), auctions=Count())


_QUERIES = PROGRAMS | {"without bids": _without_bids}
_LIVE, _INSTALLED = "live logs", "installed"
_RESULTS = "TOKENRING_STORM_RESULTS"  # in the environment: the sink, the folder and when what is installed has results
_BY_KEY, _OFTEN = "sqlite by key", "often"
_WITHOUT_BINS = {"without bids"}
"""What is refused with bins under recovery."""


def _log(folder: Path, name: str) -> None:
    """Write a log, line by line, some of them in two pieces; the last line says that it has ended."""
    with (folder / name).open("ab", buffering=0) as file:
        for at in range(_LINES):
            line = f"{at} {(at + len(name)) ** 2 % 7} {at % 100}\n".encode()
            for piece in (line,) if at % 3 else (line[:2], line[2:]):
                file.write(piece)
                time.sleep(_MESSAGE_S / 2)
        file.write(_END)


def _of_logs(scope: Scope, folder: Path) -> Stream:
    """Sums of logs that grow meanwhile, each of which is a partition, read on from a byte."""

    def read(name: str, position: int | None) -> Iterator[tuple[dict[str, list[int]], int] | None]:
        at = position or 0
        with (folder / name).open("rb") as file:
            while True:
                file.seek(at)
                whole, line_end, _ = file.read(64).rpartition(b"\n")
                text, is_end, _ = (whole + line_end).partition(_END)
                lines = text.splitlines()
                at += len(text)
                if lines:
                    columns = zip(*[map(int, line.split()) for line in lines], strict=True)
                    yield dict(zip(("at", "key", "value"), map(list, columns), strict=True)), at
                elif is_end:
                    return
                else:
                    yield None

    rows = scope.from_generator(
        Schema("at key value"), read, time="at", positions=True, partitions=_LOGS, live=True, idle="10s"
    )
    return rows.aggregate("key", window=Tumbling("at", 50), rows=Count(), total=Sum("value"))


def _bids_of_auctions(events: TimedEvents) -> Collection:
    return events.updates("bid", "auction bidder").aggregate("auction", bids=Count(), bidder=Max("bidder"))


def installed(scope: Scope) -> None:
    """How what the program keeps changes, to the sink that the environment says; whoever installs it is its launcher's
    parent."""
    sink, out, commit = os.environ[_RESULTS].split("|")
    kept = scope.import_arrangement("kept").collection()
    _SINKS[sink].write(kept.changes(time="@changed", times="@times"), out, commit)


def _install(process: subprocess.Popen[bytes]) -> None:
    """Have the group build it, as soon as there is one, unless it has it."""
    command = [sys.executable, "-m", "tokenring", "install", f"{process.pid}", "scripts.storms.deaths:installed"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    while process.poll() is None:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=WATCHDOG_S)
        if done.returncode == 0 or b"already" in done.stderr:
            return
        time.sleep(0.05)


def case(setting: Setting, random: Random) -> tuple[str, str]:
    """One job to its end, over as many runs as that takes: in words, and what was wrong."""
    query = random.choice([*_QUERIES, *_VIEWS, *[_LIVE] * 5, *[_INSTALLED] * 5])
    sink, commit = random.choice(["parquet", *_SINKS]), random.choice(["snapshot", "snapshot", "finished"])
    if sink == _BY_KEY and query == _INSTALLED:  # what it tells at once, and what then changes, are a matter of when
        sink = "sqlite"
    commit = "snapshot" if sink == _BY_KEY else commit
    job, out = setting.new("job"), setting.new("out")
    source = setting.new("logs") if query == _LIVE else setting.staged
    bins = random.choice((0, 0, 16)) if query not in _WITHOUT_BINS and sink != _BY_KEY else 0
    told = f"{query} to {sink}, commit={commit!r}, {bins} bins"
    if query == _LIVE:
        source.mkdir()
        for log in _LOGS:
            Thread(target=_log, args=(source, log), daemon=True).start()
    is_damaged = is_kept = False
    for number in range(_MOST_RUNS):
        workers = random.choice("123")
        asked = [query, str(source), str(job), str(out), sink, commit, str(bins)]
        with setting.new("err").open("w+b") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "scripts.storms.deaths", *asked, workers],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT), _RESULTS: f"{sink}|{out}|{commit}"},
                stderr=err,
            )
            if query == _INSTALLED:
                Thread(target=_install, args=(process,), daemon=True).start()
            told += f"; {workers} workers"
            try:
                if number < _MOST_RUNS - 1:
                    told += _kill_some(process, random)
                status = process.wait(WATCHDOG_S)
            except subprocess.TimeoutExpired:
                return told, "it hangs"
            finally:
                process.kill()
            err.seek(0)
            said = err.read().decode(errors="replace")
        is_kept = query != _INSTALLED or _is_kept(job) or (is_kept and not is_damaged)
        if status == 0:
            return told, _difference(query, source, sink, out) if is_kept else ""
        if is_damaged and not _SINKS[sink].gives_back and "cannot go on from snapshot" in said:  # as promised
            return f"{told}, refused", _difference(query, source, sink, out, is_whole=False)
        if "BrokenInvariant" in said or (status > 0 and "SIGKILL" not in said):
            return told, f"status {status}: {said[-400:]!r}"
        damage = _damage(job, random)
        is_damaged |= damage != ""
        told += damage
    return told, f"it has not ended in {_MOST_RUNS} runs"


def _kill_some(process: subprocess.Popen[bytes], random: Random) -> str:
    """Ill-treat a run's processes at random instants: what was done."""
    told = ""
    for _ in range(random.randint(0, 4)):
        time.sleep(random.choice((0.3, 1.0, 2.0)) * (0.2 + random.random()))
        with suppress(psutil.Error):
            launcher = psutil.Process(process.pid)
            workers = launcher.children()
            copies = [copy for worker in workers for copy in worker.children()]
            kinds = [("a worker", workers), ("a copy", copies), ("the launcher", [launcher])]
            kind, among = random.choice([one for one in kinds if one[1]])
            victim = random.choice(among)
            number = random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM))
            if number == signal.SIGTERM and kind != "the launcher":
                number = signal.SIGKILL
            told += f", {number.name} to {kind}"
            victim.send_signal(number)
            if number == signal.SIGSTOP:
                time.sleep(random.random() / 2)
                victim.send_signal(signal.SIGCONT)
    return told


def _is_kept(job: Path) -> bool:
    """Whether a snapshot has what was installed; the one with which the job ends has it no more."""
    return any([snapshot is not None and "installed" in snapshot.installed for _, snapshot, _ in JobFolder(job).all()])


def _damage(job: Path, random: Random) -> str:
    """Sometimes, where there is another one, spoil the newest snapshot: what was done."""
    snapshots = sorted(job.glob("snapshot-*"))
    if len(snapshots) < 2 or random.random() < 0.5:
        return ""
    files = sorted(snapshots[-1].iterdir())
    if not files:
        return ""
    path = random.choice(files)
    content = path.read_bytes()
    if random.random() < 0.3 or not content:
        path.unlink()
        return f", {path.name} lost"
    at = random.randrange(len(content))
    path.unlink()  # the link alone: what the snapshot before has of the file stays
    rest = b"" if random.random() < 0.5 else bytes([content[at] ^ 1]) + content[at + 1 :]
    path.write_bytes(content[:at] + rest)
    return f", {path.name} damaged at {at}"


def _results(query: str, events: TimedEvents) -> Stream:
    """What is written: answers, or how a view changes."""
    if query == _LIVE:
        return _of_logs(events.scope, events.files.folder)
    if query in _QUERIES:
        return _QUERIES[query](events)
    if query == _INSTALLED:
        return _bids_of_auctions(events).changes(time="@changed", times="@times")
    view = _VIEWS[query]
    rows = {stream: events.updates(stream, columns) for stream, columns in view.columns.items()}
    return view.build(**rows).changes(time="@changed", times="@times")


def _difference(query: str, staged: Path, sink: str, out: Path, is_whole: bool = True) -> str:
    """What was written beside the answer of a run that nobody disturbed. is_whole: whether all of it is to be there."""
    if query not in _ANSWERS:
        answer = run(lambda scope: _results(query, TimedEvents(scope, Files(staged))).collect(), workers=1)
        _ANSWERS[query] = answer.to_pylist()
    found = _SINKS[sink].rows(out)
    if sink == _BY_KEY:
        return _difference_by_key(_ANSWERS[query], found, is_whole)
    expected, there = _counted(_ANSWERS[query]), _counted(found)
    if query == _INSTALLED:  # what there was when it was installed is told at once, and then each change
        expected, there = _left(expected), _left(there)
    if there == expected or (not is_whole and there <= expected):
        return ""
    return f"{(expected - there).total()} rows are missing, {(there - expected).total()} are too many"


def _difference_by_key(answer: list[Row], found: list[Row], is_whole: bool) -> str:
    """The same of how often each key is there."""
    (key,) = {name for row in found for name in row} - {_OFTEN} or {""}
    expected = Counter([row.get(key) for row in answer])
    there = Counter({row[key]: row[_OFTEN] for row in found})
    if len(there) == len(found) and (there == expected if is_whole else there <= expected):
        return ""
    return f"of {len(expected)} keys {len(found)} rows are there, {len((expected - there) | (there - expected))} wrong"


def _counted(rows: list[Row]) -> Counter[Any]:
    return Counter(tuple(row[name] for name in sorted(row)) for row in rows)


def _left(changes: Counter[Any]) -> Counter[Any]:
    """What is there after changes, of rows that begin with when and how often."""
    left = Counter[Any]()
    for (_, times, *row), often in changes.items():
        left[tuple(row)] += times * often
    return Counter({row: often for row, often in left.items() if often})


def _read_database(path: Path) -> list[Row]:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("select * from results")]


def _write_counts(rows: Stream, out: str, commit: Any) -> Any:
    """How often each key is there: updates, of which a table has the last one of each."""
    spec = rows.schema.spec()
    key = next(name for name, kind in spec.items() if kind in ("int64", "string"))
    counts = as_rows(rows).count(key).rename(count=_OFTEN)
    return counts.to_database(out, "results", key=key, commit=commit)


def _read_parquet(path: Path) -> list[Row]:
    rows: list[Row] = pq.read_table(path).to_pylist()
    return rows


def _read_arrow(path: Path) -> list[Row]:
    rows: list[Row] = pa.ipc.open_file(path).read_all().to_pylist()
    return rows


def _read_lines(path: Path) -> list[Row]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@dataclass(frozen=True)
class _Sink:
    """Somewhere to write to: how, what reads a file there, and which files are there; whether results that are there
    can be taken back."""

    write: Callable[[Stream, str, Any], Any]
    read: Callable[[Path], list[Row]]
    files: Callable[[Path], Iterable[Path]] = lambda out: out.glob("*")
    gives_back: bool = True

    def rows(self, out: Path) -> list[Row]:
        """What has been written, if anything."""
        return [row for path in self.files(out) for row in self.read(path)] if out.exists() else []


_SINKS = {
    "parquet": _Sink(lambda rows, out, commit: rows.to_parquet(out, commit=commit), _read_parquet),
    "arrow": _Sink(lambda rows, out, commit: rows.to_arrow_files(out, commit=commit), _read_arrow),
    "json lines": _Sink(lambda rows, out, commit: rows.to_json_lines(out, commit=commit), _read_lines),
    "sqlite": _Sink(
        lambda rows, out, commit: rows.to_database(out, "results", commit=commit), _read_database, lambda out: [out],
        gives_back=False,
    ),
    _BY_KEY: _Sink(_write_counts, _read_database, lambda out: [out], gives_back=False),
    # deltalake has threads, and this process forks
    "delta": _Sink(
        lambda rows, out, commit: rows.to_delta(out, commit=commit), _read_parquet, files_of, gives_back=False
    ),
}


def _dying(query: str, staged: str, job: str, out: str, sink: str, commit: str, bins: str, workers: str) -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow(query, bins=int(bins)) as scope:
            events = TimedEvents(scope, Files(Path(staged)), _MESSAGE_S * (4 if query == _INSTALLED else 1))
            if query == _INSTALLED:
                _bids_of_auctions(events).arrange("auction").export("kept")
            else:
                _SINKS[sink].write(_results(query, events), out, commit)
        while int(bins) and worker.index == 0 and not worker.complete:
            if not scope.placement.is_moving:
                scope.placement.move({randrange(int(bins)): randrange(worker.peers)})
            worker.step_or_park()
        worker.run()

    try:
        execute(program, workers=int(workers), recovery=Recovery(job, every=_EVERY, restarts=20))
    except UsageError as error:
        sys.exit(f"tokenring: error: {error}")


if __name__ == "__main__":
    tables._LEAST_BYTES = 0  # snapshots hold what has changed, however little that is
    _dying(*sys.argv[1:])
