"""Rows come into a Delta table exactly once, whenever who commits them, or the launcher, dies."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from time import sleep
from typing import IO, Any

import pyarrow as pa
import pytest

import tokenring as tr
from tests.copies import Copy
from tests.errors import raises
from tests.imports import ROOT
from tests.long_form import LONG
from tests.operators.recovery.test_databases import (
    COMMITS,
    Dead,
    all_rows,
    begin,
    counted,
    expected_counts,
    finish,
    may_die,
    run_by_launchers_that_die,
    run_with_cuts,
)
from tests.operators.recovery.test_goes_on import EVERY
from tests.operators.recovery.test_instants import expected_windows, source
from tests.operators.recovery.worlds import Job
from tests.operators.sinks.delta_log import log_of
from tests.operators.sinks.test_to_delta import by_deltalake, rows_in
from tokenring.engine import GraphError, OperatorError, RecoveryError
from tokenring.operators import Count, Sum, Tumbling, aggregate, select, to_delta, union
from tokenring.operators.sinks import delta_process
from tokenring.operators.sinks.delta_table import DeltaTable

WINDOWS, ROWS, COUNTS = ("k", "window_end", "n", "total"), ("at", "k", "v"), ("window_start", "key", "rows")


def copied(command: Sequence[str], stdin: IO[bytes], stdout: IO[str], **_: Any) -> Copy:
    """The process of a request, forked from this one, which has what it imports: for tests of hundreds of them. This
    one starts no thread of deltalake's."""
    assert command[-1] == delta_process.__name__

    def answer() -> None:
        os.dup2(stdin.fileno(), 0)
        sys.stdin = os.fdopen(0, closefd=False)
        delta_process.main()

    return Copy(answer, [], ROOT, ROOT, stdout, sys.__stderr__)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits in this process, but for commits."""
    import deltalake  # noqa: F401 - of this fixture's tests alone, as others fork workers

    monkeypatch.setattr("subprocess.Popen", copied)
    monkeypatch.setattr(import_module("tokenring.operators.sinks.delivery"), "_LOOK_NS", 0)
    monkeypatch.setattr(import_module("tokenring.operators.sinks.to_delta"), "_LOOK_NS", 0)
    has = DeltaTable.has_appended

    def waits(table: DeltaTable) -> bool:
        assert table._process is not None
        table._process.wait()
        return has(table)

    monkeypatch.setattr(DeltaTable, "has_appended", waits)


def windows(scope: Any, results: Path, commit: Any = "snapshot") -> None:
    """Two sinks into two tables."""
    rows = union(source(scope), source(scope, "few", until=9, every=3))
    found = aggregate(rows, "k", window=Tumbling("at", 4), n=Count(), total=Sum("v"))
    to_delta(select(found, *WINDOWS), results / "windows", commit=commit)
    to_delta(select(rows, *ROWS), results / "rows", commit=commit)


def versions_in(folder: Path) -> dict[str, list[int]]:
    """The versions of each transaction, in the order in which they were committed."""
    found: dict[str, list[int]] = {}
    for commit in log_of(folder):
        for action in commit:
            if "txn" in action:
                found.setdefault(action["txn"]["appId"], []).append(action["txn"]["version"])
    return found


def assert_whole(job: Job) -> None:
    assert rows_in(job.results / "windows", *WINDOWS) == expected_windows(2)
    assert rows_in(job.results / "rows", *ROWS) == all_rows()
    for name in ("windows", "rows"):
        for versions in versions_in(job.results / name).values():
            assert versions == sorted({*versions})
    assert job.is_finished


@pytest.mark.usefixtures("at_once")
@COMMITS
def test_rows_are_appended_once_wherever_the_run_is_cut(tmp_path: Path, commit: str) -> None:
    for seed in range(8 if LONG else 1):
        job = Job(tmp_path / f"{seed}", partial(windows, commit=commit))
        run_with_cuts(job, seed)
        assert_whole(job)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("is_done", [True, False])
@COMMITS
def test_who_appends_may_die_at_any_commit(
    tmp_path: Path, is_done: bool, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is done, and nobody has heard of that; or before it is begun."""
    left = [0]
    begins, has = DeltaTable.begin_append, DeltaTable.has_appended

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Dead

    def begins_or_dies(table: DeltaTable, *arguments: Any) -> None:
        if not is_done:
            count()
        begins(table, *arguments)

    def has_or_dies(table: DeltaTable) -> bool:
        found = has(table)
        if is_done:
            count()
        return found

    monkeypatch.setattr(DeltaTable, "begin_append", begins_or_dies)
    monkeypatch.setattr(DeltaTable, "has_appended", has_or_dies)
    job, random = Job(tmp_path, partial(windows, commit=commit)), Random(1)
    deaths = 0
    for commits in (1, 2, 1, 1, 3, 1, 1000):
        left[0] = commits
        if not job.is_finished:
            with may_die(), job.world(2, random) as world:
                world.step(40)
                world.take(copied=True)
                finish(world)
            deaths += left[0] == 0
    assert deaths > 3
    assert_whole(job)


@pytest.mark.usefixtures("at_once")
def test_a_commit_of_which_nobody_has_heard_is_known_before_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done, and its worker dies: its results must not be taken once more, with those of later times."""
    has = DeltaTable.has_appended

    def has_and_dies(table: DeltaTable) -> bool:
        has(table)
        raise Dead

    job, random = Job(tmp_path, partial(windows, commit="finished")), Random(1)
    monkeypatch.setattr(DeltaTable, "has_appended", has_and_dies)
    with may_die(), job.world(2, random) as world:
        world.step(40)
        world.take(copied=True)
        finish(world)
    monkeypatch.setattr(DeltaTable, "has_appended", has)
    assert list(job.folder.path.glob("finished/*/parts/part-*"))
    with job.world(2, random) as world:
        assert not list(job.folder.path.glob("finished/*/parts/part-*"))
        finish(world)
    assert_whole(job)


def cut_twice(path: Path) -> Job:
    """A job with two snapshots, whose rows are in the tables."""
    job = Job(path, windows)
    with job.world(1, Random(1)) as world:
        for _ in range(2):
            world.step(6)
            world.take(copied=True)
            world.step(100)
    return job


@pytest.mark.usefixtures("at_once")
def test_a_table_that_is_not_as_it_was_left_is_refused(tmp_path: Path) -> None:
    job = cut_twice(tmp_path)
    log = job.results / "rows" / "_delta_log"
    assert list(versions_in(job.results / "rows").values()) == [[1, 2]]
    (log / f"{2:020}.json").rename(tmp_path / "kept")
    with raises(RecoveryError, "to_delta#2", str(job.results / "rows"), "up to snapshot 1", "up to 2", "begin anew"):
        begin(job)
    shutil.rmtree(log.parent)
    with raises(RecoveryError, "to_delta#2", "up to snapshot 0", "up to 2", "put the table's folder back"):
        begin(job)


@pytest.mark.usefixtures("at_once")
def test_what_is_appended_is_not_taken_back(tmp_path: Path) -> None:
    job = cut_twice(tmp_path)
    (job.folder.path / "snapshot-000002" / "manifest.json").write_bytes(b"")
    with raises(RecoveryError, "snapshot 1", "up to snapshot 2", "write"):
        begin(job)
    for inserted in job.folder.path.glob("outbox/*/inserted.json"):
        inserted.write_text("1")  # as if it had died before it said so
    with raises(RecoveryError, "to_delta", "up to snapshot 2", "goes on from snapshot 1"):
        begin(job)


@pytest.mark.usefixtures("at_once")
def test_another_job_adds_to_the_table(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        to_delta(select(source(scope), "at", "v"), tmp_path / "it")

    for name in ("one", "two"):
        with Job(tmp_path / name, declare).world(1, Random(1)) as world:
            finish(world)
    assert {*rows_in(tmp_path / "it").values()} == {2}
    assert len(versions_in(tmp_path / "it")) == 2


def test_a_loop_is_refused(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        with scope.loop() as loop:
            to_delta(loop.enter(source(scope)), results / "it")

    with raises(GraphError, "to_delta", "let the stream leave it"):
        begin(Job(tmp_path, declare))


def test_two_processes_that_append_the_same_do_it_once(tmp_path: Path) -> None:
    """One of them may be thought dead; the other one has looked before it was done."""
    schema = tr.Schema("number")
    tables = [DeltaTable(tmp_path / "it", schema, "mine", (), {}) for _ in range(4)]
    tables[0].prepare()
    path = tmp_path / "rows.arrow"
    rows = tr.Batch(schema, {"number": [*range(1000)]}).to_arrow()
    with pa.ipc.new_file(path, rows.schema) as file:
        file.write_batch(rows)
    for version in (1, 2, 2):
        for table in tables:
            table.begin_append([path], "job", version)
        for table in tables:
            with suppress(OperatorError):
                while not table.has_appended():
                    sleep(0.01)
    assert rows_in(tmp_path / "it") == Counter({(number,): 2 for number in range(1000)})


def test_a_commit_by_another_in_between_is_refused(tmp_path: Path) -> None:
    """Delta's own word: who has looked before another has committed the same transaction, cannot."""
    code = """
import pyarrow
folder = sys.argv[1]
rows = pyarrow.table({"number": [1]})
from deltalake import exceptions, schema
DeltaTable.create(folder, Schema([Field("number", schema.PrimitiveType("long"))]))
said = CommitProperties(app_transactions=[Transaction("job", 1)])
both = [DeltaTable(folder) for _ in range(2)]
write_deltalake(both[0], rows, mode="append", commit_properties=said)
try:
    write_deltalake(both[1], rows, mode="append", commit_properties=said)
except exceptions.CommitFailedError as error:
    print(json.dumps(str(error)))
"""
    assert "Concurrent" in by_deltalake(code, tmp_path / "it")
    assert rows_in(tmp_path / "it") == Counter([(1,)])


# Processes that die


def dies_at(when: str, mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first commit is the last thing that its worker does."""
    begins, has = DeltaTable.begin_append, DeltaTable.has_appended

    def die_if(now: bool) -> None:
        if now and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def begins_or_dies(table: DeltaTable, *arguments: Any) -> None:
        die_if(when == "before")
        begins(table, *arguments)
        if when.startswith("after "):
            sleep(float(when.split()[1]))
        die_if(when.startswith("after "))

    def has_or_dies(table: DeltaTable) -> bool:
        found = has(table)
        die_if(when == "done" and found)
        return found

    monkeypatch.setattr(DeltaTable, "begin_append", begins_or_dies)
    monkeypatch.setattr(DeltaTable, "has_appended", has_or_dies)


@pytest.mark.parametrize("when", ["before", "after 0", "after 0.3", "done"])
def test_a_worker_that_is_killed_while_it_appends_changes_nothing(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    dies_at(when, tmp_path / "killed", monkeypatch)
    run(tmp_path)
    assert "was killed by SIGKILL" in capfd.readouterr().err
    assert rows_in(tmp_path / "it", *COUNTS) == expected_counts()
    run(tmp_path)  # there is nothing left to do
    assert rows_in(tmp_path / "it", *COUNTS) == expected_counts()
    assert not list((tmp_path / "job" / "outbox").glob("*/part-*"))


def run(folder: Path, dies_at_row: bool = False) -> None:
    """Slow enough for several snapshots with results."""

    recovery = tr.Recovery(folder / "job", every=EVERY)
    declare = lambda scope: counted(scope, folder, dies_at_row, 0.02).to_delta(folder / "it")  # noqa: E731
    tr.run(declare, workers=2, recovery=recovery)


def test_a_worker_that_is_killed_before_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path, dies_at_row=True)
    assert (tmp_path / "died").exists()
    assert rows_in(tmp_path / "it", *COUNTS) == expected_counts()


@pytest.mark.parametrize(("fails", "are_told"), [(1, False), (8, True), (1000, True)])
def test_a_commit_that_is_killed_is_tried_again(
    tmp_path: Path, fails: int, are_told: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the sink itself; where that does not help, by workers that start again; and then by the next run."""
    starts = DeltaTable._start

    def is_killed(table: DeltaTable) -> None:
        starts(table)
        if table._asked[0] == "append":
            tried = len(list(tmp_path.glob("tried*")))
            (tmp_path / f"tried{tried}").touch()
            if tried < fails:
                assert table._process is not None
                table._process.kill()

    monkeypatch.setattr(DeltaTable, "_start", is_killed)
    if fails == 1000:
        with raises(OperatorError, "to_delta", str(tmp_path / "it"), "killed by SIGKILL, and 5 before it"):
            run(tmp_path)
        monkeypatch.setattr(DeltaTable, "_start", starts)
    run(tmp_path)
    assert ("SIGKILL" in capfd.readouterr().err) == are_told
    assert rows_in(tmp_path / "it", *COUNTS) == expected_counts()


def test_what_delta_does_not_have_is_told_of_before_it_is_saved(tmp_path: Path) -> None:
    """Else no start could bring it there, nor leave it out."""
    recovery, times = tr.Recovery(tmp_path / "job", every="1h"), ["2026-01-01T00:00:00.000000001"]

    def flow(scope: tr.Scope) -> tr.Probe:
        return scope.from_generator(tr.Schema(at="timestamp"), lambda: iter([{"at": times}])).to_delta(tmp_path / "it")

    with raises(OperatorError, "to_delta", "'at'", "microseconds"):
        tr.run(flow, workers=1, recovery=recovery)
    times[:] = ["2026-01-01T00:00:00.000001"]
    tr.run(flow, workers=1, recovery=recovery)
    assert sum(rows_in(tmp_path / "it").values()) == 1


def test_a_launcher_that_is_killed_between_manifest_and_results_changes_nothing(tmp_path: Path) -> None:
    run_by_launchers_that_die(tmp_path, __name__)
    assert rows_in(tmp_path / "it", *COUNTS) == expected_counts()
