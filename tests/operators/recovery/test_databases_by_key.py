"""Rows of a database by key are what a dict would have, whenever who inserts them, or the launcher, dies."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.recovery.test_databases import (
    COMMITS,
    CONNECTS,
    MODULE,
    Dying,
    begin,
    die_at_commits,
    finish,
    of_sqlite,
    quick,
    run_by_launchers_that_die,
    run_with_cuts,
)
from tests.operators.recovery.worlds import Job
from tokenring.engine import GraphError, RecoveryError, Schema
from tokenring.operators import count, from_generator, to_database

__all__ = ["quick"]
ROW = Schema.of({"at": "int64", "k": "string", "v": "int64", "gone": "bool"})
KEYS = ("a", "b", "a key of more than eight bytes", "c")
Row = tuple[int, str, int, bool]
Table = dict[Any, Any]
TIMES = 24


def rows_of(share: int) -> list[list[Row]]:
    """Those of each time. Both shares have rows of all keys, and each time of a key is one's; some take the key away,
    which comes back."""
    random, found = Random(7), []
    for at in range(TIMES):
        found.append(list[Row]())
        for key in KEYS:
            whose, often = random.randrange(2), random.choice([0, 1, 2])
            rows = [(at, key, 10 * at + number, random.random() < 0.25) for number in range(often)]
            found[at] += rows if whose == share else []
    return found


def source(scope: Any) -> Any:
    """A message has one time."""

    def function(share: int, shares: int) -> Iterator[dict[str, list[Any]]]:
        for rows in filter(None, rows_of(share)):
            yield dict(zip(ROW.names, map(list, zip(*rows, strict=True)), strict=True))

    return from_generator(scope, ROW, function, time="at")


def expected_rows() -> Table:
    table = Table()
    for rows in zip(rows_of(0), rows_of(1), strict=True):
        for at, key, value, gone in rows[0] + rows[1]:
            table[key] = (at, value)
            if gone:
                del table[key]
    return table


def expected_counts() -> Table:
    return dict(Counter(key for share in range(2) for rows in rows_of(share) for _, key, _, _ in rows))


def in_table(connect: Callable[[Path], Any], path: Path, table: str) -> Table:
    with closing(connect(path)) as connection:
        found = connection.cursor().execute(f"SELECT * FROM {table}").fetchall()
    if table == "counts":
        return dict(found)
    assert len({key for _, key, _ in found}) == len(found), "a key has two rows"
    return {key: (at, value) for at, key, value in found}


def by_key(connect: Callable[[Path], Any], commit: Any = "snapshot") -> Callable[[Any, Path], None]:
    """Rows by time; and, where they may be, updates as they are sent."""

    def declare(scope: Any, results: Path) -> None:
        results.mkdir(exist_ok=True)
        rows, database = source(scope), partial(connect, results / "it.db")
        to_database(rows, database, "rows", key="k", deleted="gone", paramstyle="qmark", commit=commit)
        if commit == "snapshot":
            to_database(count(rows, "k"), database, "counts", key="k", paramstyle="qmark", name="counted")

    return declare


def assert_is_right(job: Job, connect: Callable[[Path], Any], commit: str) -> None:
    assert in_table(connect, job.results / "it.db", "rows") == expected_rows()
    if commit == "snapshot":
        assert in_table(connect, job.results / "it.db", "counts") == expected_counts()


@COMMITS
@pytest.mark.parametrize("bins", [0, 4])
@pytest.mark.parametrize("connect", CONNECTS)
def test_a_table_is_right_wherever_the_run_is_cut(
    tmp_path: Path, connect: Callable[[Path], Any], bins: int, commit: str
) -> None:
    """By ever other workers."""
    for seed in range(2):
        job = Job(tmp_path / f"{seed}", by_key(connect, commit))
        if bins:

            def declare(scope: Any, results: Path) -> None:
                results.mkdir(exist_ok=True)
                database = partial(connect, results / "it.db")
                to_database(source(scope), database, "rows", key="k", deleted="gone", commit=commit)

            job.bins, job.declare = bins, declare
        run_with_cuts(job, seed)
        assert_is_right(job, connect, "rows" if bins else commit)
        assert job.is_finished


@COMMITS
@pytest.mark.parametrize("connect", CONNECTS)
@pytest.mark.parametrize("is_done", [True, False])
def test_who_inserts_may_die_at_any_commit(
    tmp_path: Path, connect: Callable[[Path], Any], is_done: bool, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dying, "is_done", is_done)
    job = Job(tmp_path, by_key(lambda path: Dying(connect(path)), commit))
    die_at_commits(job)
    assert_is_right(job, connect, commit)


def test_results_of_snapshots_that_were_not_finished_stay_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker then has many files of one snapshot."""
    monkeypatch.setattr(sys.modules[__name__], "TIMES", 150)
    job = Job(tmp_path, by_key(of_sqlite))
    with job.world(2, Random(1)) as world:
        for _ in range(24):
            world.step(2)
            world.take(copied=True, until="manifest")
        world.step(2000)
        world.take(copied=True)
        assert list((job.folder.path / "outbox" / "to_database").glob("part-*_00010.arrow"))
        finish(world)
    assert_is_right(job, of_sqlite, "snapshot")


@COMMITS
def test_another_key_is_another_sink(tmp_path: Path, commit: str) -> None:
    job = Job(tmp_path, by_key(of_sqlite, commit))
    with job.world(2, Random(1)) as world:
        world.step(20)
        world.take(copied=True)

    def by(**options: Any) -> Callable[[Any, Path], None]:
        def declare(scope: Any, results: Path) -> None:
            to_database(source(scope), results / "it.db", "rows", commit=commit, **options)

        return declare

    for options in ({}, {"key": "k v"}):
        job.declare = by(**options)
        with raises(RecoveryError, "sink 'to_database", "--drop"):
            begin(job)


def test_updates_do_not_go_by_times(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        to_database(count(source(scope), "k"), results / "it.db", "rows", key="k", commit="finished")

    with raises(GraphError, "to_database", "'count'", "earlier time", "leave commit= out", "to_upserts('k')"):
        begin(Job(tmp_path, declare))


# Processes that die

EVERY, NUMBERS = "50ms", 3_000


def totals(scope: tr.Scope, folder: Path, dies: bool = False, commit: Any = "snapshot") -> None:
    """Counts as they change, twice, and of keys that come and go how many there are."""

    def sales(worker: int, peers: int) -> Iterator[dict[str, list[int]]]:
        for first in range(100 * worker, NUMBERS, 100 * peers):
            if first >= NUMBERS // 3 and not list((folder / "job").glob("snapshot-*")):
                sleep(0.05)  # so that there is one before a worker dies
            yield {"at": [*range(first, first + 100)], "key": [at * at % 13 for at in range(first, first + 100)]}

    def look(batch: tr.Batch, time: int) -> None:
        mark = folder / "died"
        if dies and int(batch["at"].max()) >= NUMBERS // 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    rows = scope.from_generator(tr.Schema("at key"), sales, time="at").inspect(look)
    if commit == "snapshot":
        rows.count("key").to_database(folder / "it.db", "counts", key="key", name="counts")
    kept = rows.collection(time="at").aggregate("key", rows=tr.Count())
    into = {"deleted": "deleted", "commit": commit}
    kept.to_upserts("key").to_database(folder / "it.db", "upserts", key="key", name="upserts", **into)
    often = kept.aggregate("rows", keys=tr.Count()).to_upserts("rows").drop_columns("time")
    often.to_database(folder / "it.db", "often", key="rows", name="often", **into)


def assert_totals(folder: Path, commit: str = "snapshot") -> None:
    counts = Counter(at * at % 13 for at in range(NUMBERS))
    with closing(sqlite3.connect(folder / "it.db")) as connection:
        if commit == "snapshot":
            assert Counter(connection.execute("SELECT * FROM counts")) == Counter(counts.items())
        found = connection.execute("SELECT key, rows FROM upserts").fetchall()
        assert Counter(found) == Counter(counts.items())
        found = connection.execute("SELECT rows, keys FROM often").fetchall()
        assert Counter(found) == Counter(Counter(counts.values()).items())


@COMMITS
def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path, commit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_AT_ONCE", 50)
    recovery = tr.Recovery(tmp_path / "job", every=EVERY)
    tr.run(partial(totals, folder=tmp_path, dies=True, commit=commit), workers=2, recovery=recovery)
    assert (tmp_path / "died").exists()
    assert_totals(tmp_path, commit)


def run(folder: Path) -> None:
    tr.run(partial(totals, folder=folder), workers=2, recovery=tr.Recovery(folder / "job", every=EVERY))


def test_a_launcher_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    run_by_launchers_that_die(tmp_path, __name__)
    assert_totals(tmp_path)
