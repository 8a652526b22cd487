"""Rows come into a database exactly once, whenever who inserts them, or the launcher, dies."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from time import sleep
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises
from tests.imports import ROOT
from tests.operators.recovery.test_goes_on import EVERY, ROWS, dies_once, rows_of
from tests.operators.recovery.test_instants import expected_windows, source
from tests.operators.recovery.test_instants import rows_of as share_of
from tests.operators.recovery.worlds import Job, Rows, World
from tokenring.engine import GraphError, OperatorError, RecoveryError, UsageError
from tokenring.operators import Count, Sum, Tumbling, aggregate, select, to_arrow_files, to_database, union
from tokenring.operators.recovery import JobFolder, outbox_of
from tokenring.operators.sinks.database_table import DatabaseTable

MODULE = import_module("tokenring.operators.sinks.to_database")
"""The package has the function under that name."""
DELIVERY = import_module("tokenring.operators.sinks.delivery")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several transactions a snapshot, and no waiting."""
    monkeypatch.setattr(MODULE, "_AT_ONCE", 3)
    monkeypatch.setattr(DELIVERY, "_LOOK_NS", 0)
    monkeypatch.setattr(MODULE, "_SOON_NS", 0)


def of_sqlite(path: Path) -> Any:
    return sqlite3.connect(path)


def of_duckdb(path: Path) -> Any:
    return duckdb.connect(path)


CONNECTS = [of_sqlite, of_duckdb]


def in_database(connect: Callable[[Path], Any], path: Path, table: str) -> Rows:
    with closing(connect(path)) as connection:
        return Counter(connection.cursor().execute(f"SELECT * FROM {table}").fetchall())


COMMITS = pytest.mark.parametrize("commit", ["snapshot", "finished"])


def windows(connect: Callable[[Path], Any], commit: Any = "snapshot") -> Callable[[Any, Path], None]:
    """Two sinks into one database, and files beside them."""

    def declare(scope: Any, results: Path) -> None:
        rows = union(source(scope), source(scope, "few", until=9, every=3))
        found = aggregate(rows, "k", window=Tumbling("at", 4), n=Count(), total=Sum("v"))
        results.mkdir(exist_ok=True)
        database = partial(connect, results / "it.db")
        how = {"paramstyle": "qmark", "commit": commit}
        to_database(select(found, "k", "window_end", "n", "total"), database, "windows", **how)
        to_database(select(rows, "at", "k", "v"), database, "all_rows", **how)
        to_arrow_files(select(found, "k", "window_end", "n", "total"), results / "windows")

    return declare


def all_rows() -> Rows:
    return Counter([row for share in range(2) for row in share_of(share) + share_of(share, 9, 3)])


def finish(world: World) -> None:
    """Run to the end, with the snapshots that sinks ask for."""
    for _ in range(20_000):
        if world.is_over:
            world.keeper.finish()
            return
        world.step(8)
        world.take_if_wanted()
    raise AssertionError("the job does not come to an end")


def run_with_cuts(job: Job, seed: int) -> None:
    """To its end, by ever other workers, which are cut off anywhere."""
    random = Random(seed)
    for workers in (2, 3, 1):
        with job.world(workers, random) as world:
            world.step(random.randrange(60))
            world.take(copied=True)
            world.step(random.randrange(60))
            if random.random() < 0.7:
                world.take(until=random.choice(["", "rest", "manifest", "results"]))
    with job.world(2, random) as world:
        finish(world)


@COMMITS
@pytest.mark.parametrize("connect", CONNECTS)
def test_rows_are_inserted_once_wherever_the_run_is_cut(
    tmp_path: Path, connect: Callable[[Path], Any], commit: str
) -> None:
    for seed in range(3):
        job = Job(tmp_path / f"{seed}", windows(connect, commit))
        run_with_cuts(job, seed)
        assert in_database(connect, job.results / "it.db", "windows") == expected_windows(2)
        assert in_database(connect, job.results / "it.db", "all_rows") == all_rows()
        assert job.rows("windows") == expected_windows(2)
        assert job.is_finished


class Dead(Exception):
    """Worker 0 is no more."""


@contextmanager
def may_die() -> Iterator[None]:
    try:
        yield
    except OperatorError as error:
        if "Dead" not in str(error):
            raise


class Dying:
    """A connection of which one commit is the last that its worker does: it is done, or it is not."""

    left = 0
    is_done = True

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def cursor(self) -> Any:
        cursor = self._connection.cursor()
        return Dying(cursor) if hasattr(cursor, "commit") else cursor  # as DuckDB's

    def commit(self) -> None:
        Dying.left -= 1
        if Dying.left == 0 and not Dying.is_done:
            raise Dead
        self._connection.commit()
        if Dying.left == 0:
            raise Dead


def die_at_commits(job: Job) -> None:
    """Lives of a job, each of which ends at another commit of who inserts; the last one ends by itself."""
    random, deaths = Random(1), 0
    for commits in (1, 2, 3, 4, 5, 1, 2, 1, 5, 1, 1, 7, 1, 2, 3, 1000):
        Dying.left = commits
        if not job.is_finished:
            with may_die(), job.world(2, random) as world:
                world.step(40)
                world.take(copied=True)
                finish(world)
            deaths += Dying.left == 0
    assert deaths > 10


@COMMITS
@pytest.mark.parametrize("connect", CONNECTS)
@pytest.mark.parametrize("is_done", [True, False])
def test_who_inserts_may_die_at_any_commit(
    tmp_path: Path, connect: Callable[[Path], Any], is_done: bool, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dying, "is_done", is_done)
    job = Job(tmp_path, windows(lambda path: Dying(connect(path)), commit))
    die_at_commits(job)
    assert in_database(connect, job.results / "it.db", "windows") == expected_windows(2)
    assert in_database(connect, job.results / "it.db", "all_rows") == all_rows()


@COMMITS
@pytest.mark.parametrize("removed", [-1, 0, 1])
def test_who_inserts_may_die_before_it_removes_what_is_in(
    tmp_path: Path, removed: int, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """removed: how many files of the snapshot before; -1: it has not even been said."""
    say, left = DELIVERY.say_inserted, [0]

    def dies(folder: Path, number: int) -> None:
        left[0] -= 1
        if left[0] == 0 and removed < 0:
            raise Dead
        say(folder, number)
        if left[0] == 0:
            for path in sorted(folder.glob(f"part-{number:06d}*"))[:removed]:
                path.unlink()
            raise Dead

    monkeypatch.setattr(DELIVERY, "say_inserted", dies)
    job, random = Job(tmp_path, windows(of_sqlite, commit)), Random(1)
    for said in (1, 1, 2, 1, 1000):
        left[0] = said
        if not job.is_finished:
            with may_die(), job.world(2, random) as world:
                world.step(40)
                world.take(copied=True)
                finish(world)
    assert job.is_finished
    assert in_database(of_sqlite, job.results / "it.db", "windows") == expected_windows(2)
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == all_rows()


def test_nothing_is_inserted_of_results_that_have_not_all_appeared(tmp_path: Path) -> None:
    """Of several workers' files of a snapshot: what is counted as in is counted in their order."""
    job, link, left = Job(tmp_path, windows(of_sqlite)), os.link, [3]

    def links(*paths: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError("the disk is full")
        link(*paths)

    with job.world(2, Random(1)) as world:
        world.step(30)
        with patch("os.link", links), raises(OSError, "full"):
            world.take(copied=True)
        assert list((job.folder.path / "outbox" / "to_database").glob("part-*"))
        world.step(50)
        assert in_database(of_sqlite, job.results / "it.db", "all_rows") == Counter()
        assert in_database(of_sqlite, job.results / "it.db", "windows") == Counter()
        world.keeper._deliver()
        world.step(50)
        assert in_database(of_sqlite, job.results / "it.db", "all_rows") != Counter()
        finish(world)
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == all_rows()


@contextmanager
def looks_at_results(seen: Callable[[list[Path]], list[Path]]) -> Iterator[None]:
    """seen: what a look at the files of a database's results finds, of those that are there when it begins."""
    look = Path.glob

    def looks(folder: Path, pattern: str) -> list[Path]:
        found = list(look(folder, pattern))
        return seen(found) if found and pattern == "part-*.arrow" else found

    with patch.object(Path, "glob", looks):
        yield


def test_results_of_a_snapshot_may_appear_during_a_look_at_them(tmp_path: Path) -> None:
    """Of those that one look finds some, no others are lost."""
    job, link, left = Job(tmp_path, windows(of_sqlite)), os.link, [3]

    def links(*paths: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError("the disk is full")
        link(*paths)

    with job.world(2, Random(1)) as world:
        world.step(30)
        with patch("os.link", links), raises(OSError, "full"):
            world.take(copied=True)

        def all_appear(found: list[Path]) -> list[Path]:
            world.keeper._deliver()
            return found

        with looks_at_results(all_appear):
            world.step(50)
        finish(world)
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == all_rows()
    assert in_database(of_sqlite, job.results / "it.db", "windows") == expected_windows(2)


@pytest.mark.parametrize("seed", range(4))
def test_a_look_at_finished_results_may_miss_one_that_appears_before_another(tmp_path: Path, seed: int) -> None:
    """A folder that is read while files appear in it may show a later one, and not the one before it."""
    job, random, there = Job(tmp_path, windows(of_sqlite, "finished")), Random(seed), set[Path]()
    missed = 0

    def some(found: list[Path]) -> list[Path]:
        nonlocal missed
        new = [path for path in sorted(found) if path not in there]
        have_ended = len([*job.folder.path.glob("finished/*/ended-*")]) == 4  # two workers of two sinks
        if have_ended:  # so all were there before the look began
            return found
        appear = new[: random.randrange(len(new) + 1)]
        shown = [path for path in appear if random.random() < 0.5]
        missed += len(appear) - len(shown)
        found = [path for path in found if path in there or path in shown]
        there.update(appear)
        return found

    with looks_at_results(some), job.world(2, random) as world:
        finish(world)
    assert missed
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == all_rows()
    assert in_database(of_sqlite, job.results / "it.db", "windows") == expected_windows(2)


def cut_twice(path: Path, declare: Callable[[Any, Path], None]) -> Job:
    """A job with two snapshots, whose rows are inserted."""
    job = Job(path, declare)
    with job.world(1, Random(1)) as world:
        for steps in (6, 100):
            world.step(4)
            world.take(copied=True)
            world.step(steps)
    return job


def begin(job: Job) -> None:
    with job.world(1, Random(1)):
        pass


def test_what_is_inserted_is_not_taken_back(tmp_path: Path) -> None:
    job = cut_twice(tmp_path, windows(of_sqlite))
    (job.folder.path / "snapshot-000002" / "manifest.json").write_bytes(b"")
    with raises(RecoveryError, "snapshot 1", "up to snapshot 2", "tokenring_delivered", "write 1 into"):
        begin(job)
    with raises(RecoveryError, "snapshot 1", "up to snapshot 2"):
        job.folder.go_back(1)
    assert (job.folder.path / "snapshot-000002").exists()


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_database_that_is_not_as_it_was_left_is_refused(tmp_path: Path, number: int) -> None:
    job = cut_twice(tmp_path, windows(of_sqlite))
    with closing(sqlite3.connect(job.results / "it.db")) as connection, connection:
        connection.execute(f"UPDATE tokenring_delivered SET snapshot = {number} WHERE sink = 'to_database'")
    with raises(RecoveryError, "to_database", "windows", f"up to snapshot {number}", "begin anew"):
        begin(job)


def test_a_database_that_is_gone_is_refused(tmp_path: Path) -> None:
    job = cut_twice(tmp_path, windows(of_sqlite))
    (job.results / "it.db").unlink()
    with raises(RecoveryError, "to_database", "up to snapshot 0", "begin anew"):
        begin(job)


@COMMITS
def test_a_table_that_is_gone_is_refused_where_it_had_rows(tmp_path: Path, commit: str) -> None:
    """At every start, until it is put back."""
    job = cut_twice(tmp_path, windows(of_sqlite, commit))
    found = ("to_database", "up to snapshot"), ("to_database windows", "of times before")
    sink, until = found[commit == "finished"]
    with closing(sqlite3.connect(job.results / "it.db")) as connection, connection:
        told = connection.execute("SELECT snapshot FROM tokenring_delivered WHERE inserted > 0 AND sink = ?", [sink])
        ((number,),) = told.fetchall()
        connection.execute("ALTER TABLE windows RENAME TO elsewhere")
    facts = f"operator {sink!r}", "tokenring_delivered", f"{until} {number}"
    for _ in range(2):
        with raises(RecoveryError, *facts, "table 'windows'", "is not there", "put it back", "begin anew"):
            begin(job)
    with closing(sqlite3.connect(job.results / "it.db")) as connection, connection:
        connection.execute("ALTER TABLE elsewhere RENAME TO windows")
    with job.world(2, Random(1)) as world:
        finish(world)
    assert in_database(of_sqlite, job.results / "it.db", "windows") == expected_windows(1)


def test_another_job_adds_to_the_table(tmp_path: Path) -> None:
    database = tmp_path / "it.db"

    def declare(scope: Any, results: Path) -> None:
        to_database(select(source(scope), "at", "v"), database, "rows")

    for name in ("one", "two"):
        with Job(tmp_path / name, declare).world(1, Random(1)) as world:
            finish(world)
    assert set(in_database(of_sqlite, database, "rows").values()) == {2}


def test_a_connection_that_commits_by_itself_is_refused(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        database = partial(sqlite3.connect, tmp_path / "it.db", isolation_level=None)
        to_database(source(scope), database, "rows", name="mine")

    for _ in range(2):
        with raises(UsageError, "mine", "commits each statement by itself", "autocommit=False"):
            begin(Job(tmp_path, declare))


def test_who_is_not_alone_does_not_insert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of whom the database has not heard yet that he is dead has been quicker."""
    job = Job(tmp_path, windows(of_sqlite))
    insert = DatabaseTable.transaction

    def late(table: DatabaseTable, keeps: bool = True) -> Any:
        if keeps and table.name == "all_rows":
            with closing(sqlite3.connect(job.results / "it.db")) as other, other:
                other.execute("UPDATE tokenring_delivered SET inserted = inserted + 1 WHERE sink = 'to_database#2'")
        return insert(table, keeps)

    with job.world(1, Random(1)) as world:
        world.step(20)
        world.take(copied=True)
        monkeypatch.setattr(DatabaseTable, "transaction", late)
        with raises(OperatorError, "to_database#2", "another process"):
            world.step(100)
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == Counter()


@COMMITS
def test_a_name_of_which_no_folder_can_be_called_is_refused(tmp_path: Path, commit: Any) -> None:
    def declare(scope: Any, results: Path) -> None:
        results.mkdir()
        to_database(source(scope), partial(of_sqlite, results / "it.db"), "rows", commit=commit, name="x" * 300)

    with raises(UsageError, f"operator {'x' * 40}", "bytes", "255", "name="):
        begin(Job(tmp_path, declare))


def test_a_loop_is_refused(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        with scope.loop() as loop:
            to_database(loop.enter(source(scope)), results / "it.db", "rows")

    with raises(GraphError, "to_database", "let the stream leave it"):
        begin(Job(tmp_path, declare))


# Another program


def tables(*names: str) -> Callable[[Any, Path], None]:
    """A sink of one name for each table."""

    def declare(scope: Any, results: Path) -> None:
        results.mkdir(exist_ok=True)
        rows = source(scope)
        for name in names:
            to_database(select(rows, "at", "k", "v"), results / "it.db", name)

    return declare


def with_rows_that_wait(path: Path) -> Job:
    """A job whose last rows have appeared, and not come into the database."""
    job = Job(path, tables("one", "two"))
    with job.world(2, Random(1)) as world:
        world.step(6)
        world.take(copied=True)
        world.step(6)
        world.take()
    for number in ("", "%232"):
        assert list((job.folder.path / "outbox" / f"to_database{number}").glob("part-*"))
    return job


def test_rows_that_wait_for_a_table_and_are_gone_are_missed(tmp_path: Path) -> None:
    """Whoever went on would lose them without a word; the snapshot before makes them again."""
    job = with_rows_that_wait(tmp_path)
    outbox = job.folder.path / "outbox" / "to_database"
    (outbox / "inserted.json").write_text("1")
    for part in outbox.glob("part-*"):
        part.unlink()
    with raises(RecoveryError, "part-000002", "to_database", "is gone", "from snapshot 1,", "--from"):
        begin(job)


def test_what_a_database_has_may_be_told_again_where_that_is_lost(tmp_path: Path) -> None:
    """Nothing is removed before; with what is asked for, the job goes on."""
    job = cut_twice(tmp_path, windows(of_sqlite))
    outbox = job.folder.path / "outbox"
    shutil.rmtree(outbox)
    for attempt in (lambda: begin(job), lambda: job.folder.go_back(1)):
        with raises(RecoveryError, "is gone", "put it back", "tokenring_delivered", "inserted.json"):
            attempt()
        assert (job.folder.path / "snapshot-000002").exists()
    with closing(sqlite3.connect(job.results / "it.db")) as connection:
        told = dict(connection.execute("SELECT sink, snapshot FROM tokenring_delivered").fetchall())
    for sink, number in told.items():
        folder = outbox / quote(sink, safe="")
        folder.mkdir(parents=True)
        (folder / "inserted.json").write_text(f"{number}\n")
    with raises(RecoveryError, "snapshot 1", "up to snapshot 2"):
        job.folder.go_back(1)
    with job.world(1, Random(1)) as world:
        finish(world)
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == Counter(share_of(0) + share_of(0, 9, 3))


def test_rows_of_an_earlier_snapshot_that_wait_and_are_gone_are_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(tmp_path, tables("one"))
    with monkeypatch.context() as away, job.world(2, Random(1)) as world:
        away.setattr(DELIVERY._Delivery, "step", lambda delivery: False)  # as long as the database is
        for _ in range(3):
            world.step(6)
            world.take(copied=True)
    [first, *_] = sorted((job.folder.path / "outbox" / "to_database").glob("part-*"))
    content = first.read_bytes()
    first.unlink()
    with raises(RecoveryError, first.name, "snapshot 1 ", "is gone", "tokenring_delivered", "inserted.json"):
        begin(job)
    told = first.with_name("inserted.json")
    told.write_text("0")
    with raises(RecoveryError, first.name, "snapshot 1 ", "is gone", "in another folder", "no snapshot"):
        begin(job)
    told.unlink()
    first.write_bytes(content)
    with job.world(1, Random(1)) as world:
        finish(world)
    expected = Counter([row for share in range(2) for row in share_of(share)])
    assert in_database(of_sqlite, job.results / "it.db", "one") == expected


@COMMITS
def test_the_folder_of_a_job_may_be_moved(tmp_path: Path, commit: str) -> None:
    """With rows in it that wait for a table."""
    job = Job(tmp_path, windows(of_sqlite, commit))
    with job.world(2, Random(1)) as world:
        world.step(20)
        world.take(copied=True)
        world.step(20)
        world.take()
    moved = tmp_path / "elsewhere" / "job"
    moved.parent.mkdir()
    shutil.move(job.folder.path, moved)
    was, job.folder = job.folder, JobFolder(moved)
    with job.world(1, Random(1)) as world:
        finish(world)
    assert not was.path.exists()
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == all_rows()
    assert in_database(of_sqlite, job.results / "it.db", "windows") == expected_windows(2)


def test_a_note_of_what_has_appeared_may_be_lost(tmp_path: Path) -> None:
    """Also where the database has what it is about, and its files are gone."""
    job = Job(tmp_path, windows(of_sqlite))
    with job.world(2, Random(1)) as world:
        world.step(20)
        world.take(copied=True)
        world.step(200)
    assert not list((job.folder.path / "outbox" / "to_database").glob("part-*"))
    (job.folder.path / "last.json").unlink()
    with job.world(1, Random(1)) as world:
        finish(world)
    assert in_database(of_sqlite, job.results / "it.db", "all_rows") == all_rows()


def test_what_waits_for_a_table_as_soon_as_times_are_finished_is_missed_with_its_folder(tmp_path: Path) -> None:
    job = cut_twice(tmp_path, windows(of_sqlite, "finished"))
    shutil.rmtree(job.folder.path / "finished")
    with raises(RecoveryError, "to_database", "finished", "is gone", "put it back"):
        begin(job)


def test_sinks_are_told_apart_by_their_tables(tmp_path: Path) -> None:
    job = with_rows_that_wait(tmp_path)
    job.declare = tables("three", "two", "one")
    with job.world(1, Random(1)) as world:
        finish(world)
    expected = Counter([row for share in range(2) for row in share_of(share)])
    assert in_database(of_sqlite, job.results / "it.db", "one") == expected
    assert in_database(of_sqlite, job.results / "it.db", "two") == expected
    new = in_database(of_sqlite, job.results / "it.db", "three")
    assert new < expected
    assert new


def test_rows_that_wait_for_a_sink_that_is_gone_are_refused_unless_they_may_be(tmp_path: Path) -> None:
    job = with_rows_that_wait(tmp_path)
    before = in_database(of_sqlite, job.results / "it.db", "one")
    for declare in (tables("two"), tables("two", "three")):
        job.declare = declare
        with raises(RecoveryError, "sink 'to_database'", "--drop to_database,"):
            begin(job)
    with job.world(1, Random(1), drop=["to_database"]) as world:
        finish(world)
    assert in_database(of_sqlite, job.results / "it.db", "one") == before
    assert job.is_finished


def test_rows_that_wait_of_other_columns_are_refused(tmp_path: Path) -> None:
    job = with_rows_that_wait(tmp_path)

    def declare(scope: Any, results: Path) -> None:
        rows = source(scope)
        to_database(select(rows, "at", "k", "v"), results / "it.db", "one")
        to_database(select(rows, "at", "k"), results / "it.db", "two")

    job.declare = declare
    with raises(RecoveryError, "to_database#2", "(at, k, v)", "(at, k)", "name="):
        begin(job)


# Processes that die


class Killed(sqlite3.Connection):
    """A connection of whose commits of rows the third one kills the worker, before or behind it, the first time."""

    mark: Path
    is_done: bool
    commits = 0

    def commit(self) -> None:
        Killed.commits += self.total_changes > 1
        dies = Killed.commits == 3 and not Killed.mark.exists()
        if dies:
            Killed.mark.touch()
        if not dies or Killed.is_done:
            super().commit()
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)


def counted(scope: tr.Scope, folder: Path, dies_at_row: bool, pause_s: float = 0.0) -> Any:
    """pause_s: before each batch of the source."""

    def share(worker: int, peers: int) -> Any:
        for first in range(100 * worker, ROWS, 100 * peers):
            sleep(pause_s)
            yield rows_of(first)

    rows = scope.from_generator(tr.Schema("at key"), share, time="at")
    if dies_at_row:
        rows = rows.inspect(lambda batch, time: dies_once(folder / "died", int(batch["at"].max())))
    found = rows.aggregate("key", window=tr.Tumbling("at", 500), rows=tr.Count())
    return found.select("window_start", "key", "rows")


def counts(scope: tr.Scope, folder: Path, database: Any, dies_at_row: bool) -> tr.Probe:
    return counted(scope, folder, dies_at_row).to_database(database, "counts")


def expected_counts() -> Rows:
    found = Counter((at // 500 * 500, at * at % 13) for at in range(ROWS))
    return Counter([(start, key, rows) for (start, key), rows in found.items()])


@pytest.mark.parametrize("is_done", [True, False])
def test_a_worker_that_is_killed_while_it_inserts_changes_nothing(
    tmp_path: Path, is_done: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(MODULE, "_AT_ONCE", 50)
    monkeypatch.setattr(Killed, "mark", tmp_path / "killed", raising=False)
    monkeypatch.setattr(Killed, "is_done", is_done, raising=False)
    connect = partial(sqlite3.connect, tmp_path / "it.db", factory=Killed)
    recovery = tr.Recovery(tmp_path / "job", every=EVERY)
    tr.run(lambda scope: counts(scope, tmp_path, connect, False), workers=2, recovery=recovery)
    assert "was killed by SIGKILL" in capfd.readouterr().err
    assert in_database(of_sqlite, tmp_path / "it.db", "counts") == expected_counts()
    tr.run(lambda scope: counts(scope, tmp_path, connect, False), workers=2, recovery=recovery)
    assert in_database(of_sqlite, tmp_path / "it.db", "counts") == expected_counts()


@pytest.mark.parametrize("fails", [1, 1000])
def test_a_database_that_is_away_is_tried_again(tmp_path: Path, fails: int) -> None:
    """By the run itself; and where that does not help, by the next one."""
    back = tmp_path / "back"

    def connect() -> Any:
        tried = len(list(tmp_path.glob("tried*")))
        (tmp_path / f"tried{tried}").touch()
        if 2 <= tried < 2 + fails and not back.exists():
            raise ConnectionRefusedError("nobody is there")
        return of_sqlite(tmp_path / "it.db")

    def run() -> None:
        tr.run(
            lambda scope: counts(scope, tmp_path, connect, False),
            workers=2,
            recovery=tr.Recovery(tmp_path / "job", every=EVERY),
        )

    if fails > 1:
        with raises(OperatorError, "to_database", "table 'counts'", "nobody is there", "mend that"):
            run()
        back.touch()
    run()
    assert in_database(of_sqlite, tmp_path / "it.db", "counts") == expected_counts()


@pytest.mark.parametrize("connect", CONNECTS)
def test_a_worker_that_is_killed_before_changes_nothing(tmp_path: Path, connect: Callable[[Path], Any]) -> None:
    database = partial(connect, tmp_path / "it.db")
    recovery = tr.Recovery(tmp_path / "job", every=EVERY)
    tr.run(lambda scope: counts(scope, tmp_path, database, True), workers=2, recovery=recovery)
    assert (tmp_path / "died").exists()
    assert in_database(connect, tmp_path / "it.db", "counts") == expected_counts()


def run(folder: Path) -> None:
    recovery = tr.Recovery(folder / "job", every=EVERY)
    tr.run(lambda scope: counts(scope, folder, folder / "it.db", False), workers=2, recovery=recovery)


PROGRAM = """
import os, signal, sys
from pathlib import Path
from {module} import run
from tokenring.operators.recovery import JobFolder, outbox_of
folder, dies_at = Path(sys.argv[1]), int(sys.argv[2])
deliver, delivered = JobFolder.deliver, 0
def dies(self, snapshot):
    global delivered
    delivered += 1
    if delivered == dies_at:
        os.kill(os.getpid(), signal.SIGKILL)
    deliver(self, snapshot)
    if delivered == -dies_at:
        os.kill(os.getpid(), signal.SIGKILL)
JobFolder.deliver = dies
if __name__ == "__main__":
    run(folder)
"""


def run_by_launchers_that_die(folder: Path, module: str) -> None:
    """`module`'s `run(folder)`, killed between manifest and results, or right behind them: each run gets as far as one
    snapshot more, or its end."""
    program = folder / "program.py"
    program.write_text(PROGRAM.format(module=module))
    statuses = []
    for dies_at in (1, 2, -2, 0):
        done = subprocess.run(
            [sys.executable, program, folder, str(dies_at)], capture_output=True, text=True, check=False,
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        statuses.append(done.returncode)
    assert statuses[-1] == 0, done.stderr
    assert statuses.count(-signal.SIGKILL) >= 2


def test_a_launcher_that_is_killed_between_manifest_and_results_changes_nothing(tmp_path: Path) -> None:
    run_by_launchers_that_die(tmp_path, __name__)
    assert in_database(of_sqlite, tmp_path / "it.db", "counts") == expected_counts()


def test_a_last_snapshot_that_cannot_be_taken_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenring.operators.recovery.keeping import Keeper

    take, asked = Keeper._try_to_take, []

    def fails_first(keeper: Keeper, processes: list[int]) -> Any:
        asked.append(processes)
        return {"error": "the disk is full"} if len(asked) < 3 else take(keeper, processes)

    monkeypatch.setattr(Keeper, "_try_to_take", fails_first)
    monkeypatch.setattr("tokenring.operators.recovery.wanted._AGAIN_NS", 1000)
    recovery = tr.Recovery(tmp_path / "job", every="1h")
    tr.run(lambda scope: counts(scope, tmp_path, tmp_path / "it.db", False), workers=2, recovery=recovery)
    assert len(asked) >= 3
    assert in_database(of_sqlite, tmp_path / "it.db", "counts") == expected_counts()


def test_a_run_ends_whose_last_snapshot_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenring.operators.recovery.keeping import Keeper

    def fails(*_: Any) -> None:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(Keeper, "_try_to_take", fails)
    with raises(ZeroDivisionError, "a fault of ours"):
        tr.run(
            lambda scope: counts(scope, tmp_path, tmp_path / "it.db", False),
            workers=2,
            recovery=tr.Recovery(tmp_path / "job"),
        )


def test_what_a_removed_sink_left_in_the_job_is_no_folder_of_the_users(tmp_path: Path) -> None:
    left = outbox_of(tmp_path / "job", "to_database")
    left.mkdir(parents=True)
    (left / "inserted.json").write_text("{}")

    def flow(scope: tr.Scope) -> None:
        scope.read_arrow(pa.table({"k": [1]})).to_database(tmp_path / "results.db", "rows")

    with raises(tr.UsageError, "operator 'to_database'", "called so before", "name="):
        tr.run(flow, workers=1, recovery=tr.Recovery(tmp_path / "job"))
