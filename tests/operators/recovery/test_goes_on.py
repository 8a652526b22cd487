"""A run with recovery= goes on after deaths, of workers and of the launcher, and its results are there exactly once."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.copies import WATCHDOG_S
from tests.errors import raises
from tokenring import Recovery, RecoveryError, UsageError
from tokenring.engine.ask import group_of
from tokenring.operators.recovery import JobFolder, Wanted, keeping
from tokenring.operators.recovery import folder as job_folder
from tokenring.operators.recovery.installing import INSTALLED

ROWS = 12_000
EVERY = "50ms"


def rows_of(first: int) -> dict[str, list[int]]:
    return {"at": [*range(first, first + 100)], "key": [at * at % 13 for at in range(first, first + 100)]}


def expected() -> Counter[tuple[int, int, int]]:
    counts = Counter((at // 500 * 500, at * at % 13) for at in range(ROWS))
    return Counter({(start, key, rows): 1 for (start, key), rows in counts.items()})


def found(folder: Path) -> Counter[tuple[int, int, int]]:
    parts = [pq.read_table(path) for path in sorted(folder.glob("part-*.parquet"))]
    table = pa.concat_tables(parts)
    return Counter(zip(*[table[name].to_pylist() for name in ("window_start", "key", "rows")], strict=True))


def dies_once(mark: Path, at: int) -> None:
    """A worker that comes to a time dies there, the first time."""
    if at >= 6000 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def counts(scope: tr.Scope, folder: Path) -> tr.Probe:
    """What runs: rows of two shares, counted, with a look at each message. It is slow while there is no snapshot, so
    that there is one, on all but a hopeless machine, before a worker dies."""

    def share(worker: int, peers: int) -> Iterator[dict[str, list[int]]]:
        for first in range(100 * worker, ROWS, 100 * peers):
            if first >= 4000 and not list((folder / "job").glob("snapshot-*")):
                sleep(0.02)
            yield rows_of(first)

    rows = scope.from_generator(tr.Schema("at key"), share, time="at")
    seen = rows.inspect(lambda batch, time: dies_once(folder / "died", int(batch["at"].max())))
    return seen.aggregate("key", window=tr.Tumbling("at", 500), rows=tr.Count()).to_parquet(folder / "out")


def test_a_workers_death_changes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tr.run(lambda scope: counts(scope, tmp_path), workers=2, recovery=Recovery(tmp_path / "job", every=EVERY))
    assert (tmp_path / "died").exists()
    assert found(tmp_path / "out") == expected()
    assert "was killed by SIGKILL" in capfd.readouterr().err
    assert not list(tmp_path.glob(".out*"))


def test_as_many_workers_are_kept_as_are_said_besides_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr("tokenring.operators.recovery.keeping.Keeper", lambda *given: kept.append(given[-1]) or 1 // 0)
    for workers, config in ((3, tr.Config(spin_us=0)), (0, tr.Config(workers=5)), (4, None)):
        with pytest.raises(ZeroDivisionError):
            tr.execute(lambda worker: None, workers, config, recovery=Recovery(tmp_path / "job"))
    assert kept == [3, 5, 4]


def test_a_collections_changes_are_there_once(tmp_path: Path) -> None:
    def flow(scope: tr.Scope) -> tr.Probe:
        def share(worker: int, peers: int) -> Iterator[dict[str, list[int]]]:
            for first in range(100 * worker, ROWS, 100 * peers):
                if first >= 4000 and not list((tmp_path / "job").glob("snapshot-*")):
                    sleep(0.02)
                yield rows_of(first)

        rows = scope.from_generator(tr.Schema("at key"), share, time="at")
        seen = rows.inspect(lambda batch, time: dies_once(tmp_path / "died", int(batch["at"].max())))
        ends = seen.select(tr.col("key"), end=tr.col("at") // 500 * 500 + 500).collection(time="end")
        ends.arrange("key").export("rows by key")
        return ends.aggregate("key", rows=tr.Count()).changes().to_parquet(tmp_path / "out")

    tr.run(flow, workers=2, recovery=Recovery(tmp_path / "job", every=EVERY))
    assert (tmp_path / "died").exists()
    table = pa.concat_tables([pq.read_table(path) for path in (tmp_path / "out").glob("part-*.parquet")])
    expected: Counter[tuple[int, int, int, int]] = Counter()
    before: Counter[int] = Counter()
    for end in range(500, ROWS + 1, 500):
        now = before + Counter([at * at % 13 for at in range(end - 500, end)])
        for key in now:
            if now[key] != before[key]:
                expected.update([(key, now[key], end, 1)] + ([(key, before[key], end, -1)] if before[key] else []))
        before = now
    names = ("key", "rows", "time", "times")
    assert Counter(zip(*[table[name].to_pylist() for name in names], strict=True)) == expected


def test_a_finished_job_is_not_done_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "died").touch()
    for _ in range(2):
        tr.run(lambda scope: counts(scope, tmp_path), workers=1, recovery=Recovery(tmp_path / "job", every=EVERY))
        assert found(tmp_path / "out") == expected()
    assert "nothing is left to do" in capfd.readouterr().err


PROGRAM = """
import sys
from pathlib import Path
import tokenring as tr
from tests.operators.recovery.test_goes_on import EVERY, counts
folder, workers = Path(sys.argv[1]), int(sys.argv[2])
if __name__ == "__main__":
    recovery = tr.Recovery(folder / "job", every=EVERY, restarts=0)
    tr.run(lambda scope: counts(scope, folder), workers=workers, recovery=recovery)
"""


def test_the_same_command_goes_on_after_the_launchers_death(tmp_path: Path) -> None:
    """restarts=0: the worker's death is the run's, as if the machine had died; another number of workers goes on."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    statuses = []
    for workers in (2, 3):
        done = subprocess.run(
            [sys.executable, program, tmp_path, str(workers)], capture_output=True, text=True, check=False,
            cwd=Path(__file__).parents[3], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )  # fmt: skip
        statuses.append(done.returncode)
    assert statuses == [1, 0], done.stderr
    assert found(tmp_path / "out") == expected()


def snapshot_in(folder: Path) -> int:
    """The number of the newest snapshot."""
    return max([int(path.name.removeprefix("snapshot-")) for path in folder.glob("snapshot-*")], default=0)


def slowly_until(is_so: Callable[[], bool], first: int = 0) -> Iterator[dict[str, list[int]]]:
    """Rows, of which those from a place on come slowly while something is not so."""
    for start in range(0, ROWS, 100):
        if start >= first and not is_so():
            sleep(0.02)
        yield rows_of(start)


def test_a_row_at_which_an_operator_fails_twice_ends_the_run(tmp_path: Path) -> None:
    """Whatever else the error says, such as how far others were. It is told where the row is to be looked for."""
    failed = tmp_path / "failed"

    def fails(batch: tr.Batch, time: int) -> None:
        if time >= 6000:
            with failed.open("a") as file:
                file.write("x")
            raise ValueError(f"no such row at {os.getpid()}")

    def run(inspecting: Callable[[tr.Batch, int], None]) -> None:
        def flow(scope: tr.Scope) -> tr.Probe:
            function = lambda: slowly_until(lambda: snapshot_in(tmp_path / "job") > 0, 4000)  # noqa: E731
            rows = scope.from_generator(tr.Schema("at key"), function, time="at", name="rows")
            return rows.inspect(inspecting).to_parquet(tmp_path / "out")

        tr.run(flow, workers=1, recovery=Recovery(tmp_path / "job", every="1h", restarts=9))

    with raises(tr.OperatorError, "ValueError", "no such row") as caught:
        run(fails)
    assert failed.read_text() == "xx"
    (note,) = [note for note in caught.value.__notes__ if "failed so twice, from snapshot 0" in note]
    assert "mend the program, or the row" in note and "had read nothing before" in note
    failed.unlink()
    wanted = Wanted(tmp_path / "job")

    def asking(batch: tr.Batch, time: int) -> None:
        if time == 3000 and not failed.exists():
            wanted.ask()
        fails(batch, time)

    with raises(tr.OperatorError, "ValueError", "no such row") as caught:
        run(asking)
    assert failed.read_text() == "xx"
    (note,) = [note for note in caught.value.__notes__ if "failed so twice" in note]
    assert "from snapshot 1" in note
    place = int(note.rpartition("'rows', share 0, at ")[2])
    assert 30 < place <= 60  # behind where it was asked for, and before what fails


@pytest.mark.parametrize("kind", [PermissionError, sqlite3.OperationalError])
def test_of_a_disk_or_a_database_no_row_is_to_be_mended(tmp_path: Path, kind: type[Exception]) -> None:
    def fails(batch: tr.Batch, time: int) -> None:
        raise kind("it is away")

    def flow(scope: tr.Scope) -> tr.Probe:
        rows = scope.from_generator(tr.Schema("at key"), lambda: iter([rows_of(0)]), time="at")
        return rows.inspect(fails).to_parquet(tmp_path / "out")

    with raises(tr.OperatorError, kind.__name__) as caught:
        tr.run(flow, workers=1, recovery=Recovery(tmp_path / "job"))
    (note,) = [note for note in caught.value.__notes__ if "failed so twice" in note]
    assert "mend that, and run it again" in note and "row" not in note


def test_the_same_error_of_other_rows_is_tried_again(tmp_path: Path) -> None:
    """There has been a snapshot between, behind all that had been sent: each run waits for one there."""
    job, failed, sent = tmp_path / "job", tmp_path / "failed", tmp_path / "sent"
    failed.touch()
    sent.write_text(f"{-ROWS}")

    def fails(batch: tr.Batch, time: int) -> None:
        if time == (3000, 6000, 9000, ROWS)[len(failed.read_text())]:
            with failed.open("a") as file:
                file.write("x")
            raise ValueError("no such row")

    def some() -> Iterator[dict[str, list[int]] | None]:
        before = int(sent.read_text())
        for first in range(0, ROWS, 100):
            number = snapshot_in(job)
            while first == before + 200 and snapshot_in(job) < number + 2:  # the next may have been under way
                yield None
            sent.write_text(f"{first}")
            yield rows_of(first)

    def flow(scope: tr.Scope) -> tr.Probe:
        throttle = tr.Throttle(batches=2)
        rows = scope.from_generator(tr.Schema("at key"), some, time="at", throttle=throttle)
        counted = rows.inspect(fails).aggregate("key", window=tr.Tumbling("at", 500), rows=tr.Count())
        return counted.to_parquet(tmp_path / "out")

    tr.run(flow, workers=1, recovery=Recovery(job, every=EVERY))
    assert failed.read_text() == "xxx"
    assert found(tmp_path / "out") == expected()


def test_the_same_error_of_other_rows_that_a_program_feeds_is_tried_again(tmp_path: Path) -> None:
    """Nobody counts those: what the program feeds, or saves, is another in the snapshot between."""
    job, failed = tmp_path / "job", tmp_path / "failed"
    failed.touch()

    def fails(batch: tr.Batch, time: int) -> None:
        if time == (8, 18, 28, 99)[len(failed.read_text())]:
            with failed.open("a") as file:
                file.write("x")
            raise ValueError("no such row")

    def program(worker: tr.Worker) -> None:
        at = 0 if worker.resumed is None else worker.resumed["at"]
        worker.save("at", lambda: at)
        with worker.dataflow("fed") as scope:
            handle, rows = scope.new_input(tr.Schema("at"))
            rows.inspect(fails)
        while at < 30:
            number = snapshot_in(job)
            while at % 10 == 5 and snapshot_in(job) == number:
                worker.step()
            handle.advance_to(at)
            handle.send({"at": [at]})
            at += 1
            worker.step()

    tr.execute(program, workers=1, recovery=Recovery(job, every=EVERY))
    assert failed.read_text() == "xxx"


def follow_each_other(folder: Path, launch: Callable[..., Any]) -> None:
    """Groups of a launcher that are made up."""
    keeping.execute_with_recovery(launch, Mock(), lambda worker: None, Recovery(folder), 1)


def test_what_fails_on_another_worker_is_the_same_fault(tmp_path: Path) -> None:
    launch = Mock(side_effect=[tr.OperatorError(f"worker {worker}: ValueError: no") for worker in range(9)])
    with raises(tr.OperatorError, "worker 1"):
        follow_each_other(tmp_path / "job", launch)


def test_who_asks_between_two_groups_is_told_that_another_one_starts(tmp_path: Path) -> None:
    with raises(UsageError, f"process {os.getpid()}", "starting again", "try again"):
        follow_each_other(tmp_path / "job", lambda *_, **more: group_of(os.getpid()))
    with raises(UsageError, "runs no group"):
        group_of(os.getpid())


def test_no_worker_that_has_ended_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends while a snapshot is asked for; those who answered were kept from ending until it was given up."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    processes = [os.getpid(), ended.pid]
    group = SimpleNamespace(launcher=os.getpid(), workers=processes, folder=tmp_path / "private", lasts=True)
    group.folder.mkdir(mode=0o700)
    monkeypatch.setattr(keeping, "running_groups", lambda _: [group])
    monkeypatch.setattr(import_module("tokenring.engine.ask.requested"), "call_workers", lambda *_: None)
    monkeypatch.setattr(keeping, "_STAND_S", 3600.0)
    job = JobFolder(tmp_path / "job")
    with job.locked():
        assert keeping.Keeper(job, Recovery(job.path), None, 2)._try_to_take(processes) is None


def test_why_no_snapshot_is_taken_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = SimpleNamespace(number=1, manifest={"time": ""}, rows=0, bytes=0)
    comes = [UsageError("one"), UsageError("one"), UsageError("two"), taken, UsageError("two"), UsageError("two")]
    monkeypatch.setattr(keeping.Keeper, "_has_ended", lambda *_: False)
    monkeypatch.setattr(keeping.Keeper, "_take", Mock(side_effect=comes))
    job = JobFolder(tmp_path / "job")
    with job.locked():
        keeper = keeping.Keeper(job, Recovery(job.path), None, 1)
        assert ["error" in (keeper._try_to_take([]) or {}) for _ in comes] == [one is not taken for one in comes]
    assert [line.split(": ")[2].split(";")[0] for line in capsys.readouterr().err.splitlines()] == ["one", "two", "two"]


@pytest.mark.parametrize("starts", [1, 2])
def test_a_program_that_fails_to_declare_is_tried_again_only_where_it_has_declared_before(
    tmp_path: Path, starts: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second time something else is away, maybe for a moment."""
    begun = tmp_path / "begun"
    begun.touch()

    def flow(scope: tr.Scope) -> tr.Probe:
        with begun.open("a") as file:
            file.write("x")
        if len(begun.read_text()) == starts:
            raise TypeError("no such option")
        rows = scope.from_generator(tr.Schema("at key"), lambda: iter([rows_of(0)]), time="at")
        return rows.inspect(lambda batch, time: dies_once(tmp_path / "died", 6000)).to_parquet(tmp_path / "out")

    if starts == 1:
        with raises(tr.OperatorError, "TypeError: no such option") as caught:
            tr.run(flow, workers=1, recovery=Recovery(tmp_path / "job"))
        (note,) = caught.value.__notes__
        assert __file__ in note
    else:
        tr.run(flow, workers=1, recovery=Recovery(tmp_path / "job"))
    assert begun.read_text() == {1: "x", 2: "xxx"}[starts]
    assert ("starting again" in capfd.readouterr().err) == (starts > 1)


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("module", "function", "error", "sink", "facts"),
    [
        ("outbox", "_new_file", FULL, ("to_json_lines", {}), ("out:", "room")),
        ("part_files", "_JsonPart.finish", FULL, ("to_json_lines", {}), ("out:", "room")),
        ("outbox", "_new_file", FULL, ("to_json_lines", {"commit": "finished"}), ("out:", "room")),
        ("outbox", "_new_file", FULL, ("to_database", {"commit": "finished"}), ("job/finished", "room")),
        ("delivery", "say_inserted", FULL, ("to_database", {"commit": "finished"}), ("job:", "room")),
        (
            "database_table", "DatabaseTable.insert", sqlite3.OperationalError("database or disk is full"),
            ("to_database", {}), ("table 'rows' of", "out:", "room"),
        ),
    ],
)  # fmt: skip
def test_a_sink_whose_disk_is_full_says_which_and_of_no_row(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    function: str,
    error: Exception,
    sink: tuple[str, dict[str, str]],
    facts: tuple[str, ...],
) -> None:
    def is_full(*given: object) -> None:
        if not isinstance(given[-1], pa.Table) or given[-1].num_rows:  # else it tries whether rows could be inserted
            raise error

    def flow(scope: tr.Scope) -> tr.Probe:
        rows = scope.from_generator(tr.Schema("at key"), lambda: iter([rows_of(0)]), time="at")
        kind, options = sink
        table = ["rows"] if kind == "to_database" else []
        return getattr(rows, kind)(tmp_path / "out", *table, name="mine", **options)

    monkeypatch.setattr(f"tokenring.operators.sinks.{module}.{function}", is_full)
    with raises(tr.OperatorError, "operator 'mine'", *facts) as caught:
        tr.run(flow, workers=1, recovery=Recovery(tmp_path / "job", every="50ms"))
    (note,) = [note for note in caught.value.__notes__ if "failed so twice" in note]
    assert "mend that, and run it again" in note and "row" not in note


def test_who_installs_is_told_of_a_snapshot_that_fails_and_another_is_tried_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_LEAST_PAUSE_S", 0.0)
    told = tmp_path / "told.json"
    comes = iter([None, {"error": "no room"}, None, {"number": 1}])
    heard = []

    def said() -> bytes:
        return told.read_bytes() if told.exists() else b""

    def take(self: keeping.Keeper, processes: list[int]) -> dict[str, Any] | None:
        heard.append(said())
        return next(comes)

    monkeypatch.setattr(keeping.Keeper, "_try_to_take", take)
    job = JobFolder(tmp_path / "job")
    with job.locked():
        keeper = keeping.Keeper(job, Recovery(job.path, every="1h"), None, 1)
        keeper.hearing(None)(0, [INSTALLED, str(told)])
        keeper.starting(None)([])
        deadline = monotonic() + WATCHDOG_S
        while b"number" not in said() and monotonic() < deadline:
            sleep(0.005)
        keeper.stop()
    assert keeper.failure is None and heard == [b"", b"", *2 * [b'{"error":"no room"}']]


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_job_whose_folder_goes_under_it_is_not_done_again(tmp_path: Path, is_moved: bool) -> None:
    """A worker dies then: results that have appeared would come twice."""
    job = tmp_path / "job"

    def loses(batch: tr.Batch, time: int) -> None:
        if snapshot_in(job) and not (tmp_path / "died").exists():
            job.rename(tmp_path / "moved")
            if not is_moved:
                job.mkdir()
        dies_once(tmp_path / "died", ROWS if (tmp_path / "moved").exists() else 0)

    def flow(scope: tr.Scope) -> tr.Probe:
        rows = scope.from_generator(tr.Schema("at key"), partial(slowly_until, (tmp_path / "died").exists), time="at")
        return rows.inspect(loses).to_parquet(tmp_path / "out")

    with raises(tr.RecoveryError, str(job), "snapshot 1", str(tmp_path / "out"), "put them back"):
        tr.run(flow, workers=1, recovery=Recovery(job, every=EVERY))
    assert not snapshot_in(job)
    if is_moved:
        (tmp_path / "moved").rename(job)
        tr.run(flow, workers=1, recovery=Recovery(job, every=EVERY))
        assert pq.read_table(tmp_path / "out").sort_by("at")["at"].to_pylist() == list(range(ROWS))


@pytest.mark.parametrize(
    ("module", "function", "code", "cure"),
    [(os, "link", errno.EACCES, "chown"), (job_folder, "write_manifest", errno.ENOSPC, "make room")],
)
def test_results_that_cannot_appear_do_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, function: str, code: int, cure: str
) -> None:
    def refused(path: Path, *given: object) -> None:
        raise OSError(code, os.strerror(code), str(path))

    def flow(scope: tr.Scope) -> tr.Probe:
        return scope.from_generator(tr.Schema("at key"), lambda: iter([rows_of(0)])).to_parquet(tmp_path / "out")

    def run() -> None:
        tr.run(flow, workers=1, recovery=Recovery(tmp_path / "job", every="1h"))

    with monkeypatch.context() as away:
        away.setattr(module, function, refused)
        with raises(tr.RecoveryError, str(tmp_path), os.strerror(code), cure, "nothing of the job is lost"):
            run()
    assert not list((tmp_path / "out").glob("*"))
    run()
    assert pq.read_table(tmp_path / "out").to_pydict() == rows_of(0)


def test_a_folder_that_has_gone_takes_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "group_of", lambda process: None)
    job = JobFolder(tmp_path / "job")
    with job.locked():
        shutil.rmtree(job.path)
        with raises(UsageError, str(job.path), f"process {os.getpid()}", "gone"):
            keeping.take_now(os.getpid(), 1.0)


def test_two_runs_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenring.operators.recovery import folder

    monkeypatch.setattr(folder, "_LOCK_S", 0.0)
    with (
        JobFolder(tmp_path).locked(),
        raises(RecoveryError, "another run", str(tmp_path)),
        JobFolder(tmp_path).locked(),
    ):
        pass
