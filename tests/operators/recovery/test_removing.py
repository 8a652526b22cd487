"""What an installed dataflow's sinks had when it was removed is in their tables and folders; nothing else is left."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.operators.recovery import test_installed as installed
from tests.operators.recovery.test_databases import MODULE, in_database, of_sqlite, quick  # noqa: F401 - a fixture
from tests.operators.recovery.worlds import Job, World
from tokenring.engine.ask import write_whole
from tokenring.engine.install import Installed
from tokenring.engine.running import Failure
from tokenring.operators import Count, Sum, Tumbling, aggregate, select, to_arrow_files, to_database
from tokenring.operators.recovery import RemovingSaved, outbox_of
from tokenring.operators.recovery.wanted import WANTED, answer_to

_MOST_STEPS = 5_000


def stored(scope: Any) -> None:
    """Windows of rows of its own, in a table and a folder."""
    found = aggregate(installed.source(scope, "own"), "k", window=Tumbling("at", 4), n=Count(), total=Sum("v"))
    rows = select(found, "k", "window_end", "n", "total")
    results = installed.RESULTS[0]
    results.mkdir(exist_ok=True)
    to_database(rows, results / "it.db", "windows")
    to_arrow_files(rows, results / "windows")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(installed, "stored", stored, raising=False)
    installed.RESULTS[:] = [tmp_path / "results"]
    return Job(tmp_path, installed.totals)


def begun(world: World, folder: Path) -> list[RemovingSaved]:
    """All workers are asked to remove it."""
    folder.mkdir()
    return [RemovingSaved(worker, folder, {"name": "stored"}) for worker in world.group.workers]


def remove(world: World, removing: list[RemovingSaved]) -> None:
    """What all do together once all have promised: it goes from each worker, and then what is left of it."""
    for worker in world.group.workers:
        with world.group.building(worker):
            worker.kept(Installed).remove("stored").cancel()
    world.step(50)
    for one in removing:
        saving = one._saving
        assert saving is not None
        for sink in saving.sinks.values():
            sink.abandon()
        one.leave()


@pytest.mark.parametrize("seed", range(6))
def test_all_that_a_snapshot_has_is_where_it_is_to_go(job: Job, tmp_path: Path, seed: int) -> None:
    """Other snapshots may be taken meanwhile, or be begun and come to nothing."""
    random = Random(seed)
    with job.world(2, random, keep=9) as world:
        world.step(random.randrange(20))
        installed.install(world, stored)
        world.step(random.randrange(40))
        world.take(copied=True)
        removing = begun(world, tmp_path / "asked-to-remove")
        for _ in range(_MOST_STEPS):
            if all([one.is_ready() for one in removing]):
                break
            if random.random() < 0.05:
                world.take(copied=True, until=random.choice(["", "", "manifest"]))
            if random.random() < 0.5:
                world.take_if_wanted()
            world.step(random.choice([1, 3, 9]))
        else:
            raise AssertionError("it is not ready to go")
        remove(world, removing)
        there = job.rows("windows")
        assert in_database(of_sqlite, job.results / "it.db", "windows") == there <= installed.windows_of(2)
        world.take()
    (outbox,) = outbox_of(job.folder.path, "it").parent.iterdir()
    assert not [*outbox.glob("*part*"), *job.results.glob("windows/.*"), *job.folder.path.glob(f"{WANTED}*")]
    with job.world(2, random) as world:
        world.finish()
    assert job.rows("windows") == there, "it does not come back"


def until_ready(world: World, removing: list[RemovingSaved]) -> None:
    for _ in range(_MOST_STEPS):
        if removing[0].is_ready():
            return
        world.take_if_wanted()
        world.step(3)
    raise AssertionError("it is not ready to go")


def test_rows_that_wait_for_their_table_keep_it(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes once they could be inserted; it stays where nobody waits for that any more."""
    taken: list[int] = []
    take = MODULE._Inserting.take
    monkeypatch.setattr(MODULE._Inserting, "take", lambda *asked: take(*asked) if taken else False)
    with job.world(2, Random(1)) as world:
        installed.install(world, stored)
        world.step(40)
        removing = begun(world, tmp_path / "asked-to-remove")
        for _ in range(50):
            assert not removing[0].is_ready() and all([one.is_ready() for one in removing[1:]])
            world.take_if_wanted()
            world.step(3)
        for one in removing:
            one.leave()
        assert installed.names_in(world) == [["stored"]] * 2
        taken.append(1)
        removing = begun(world, tmp_path / "asked-again")
        until_ready(world, removing)
        remove(world, removing)
    with sqlite3.connect(job.results / "it.db") as connection:
        assert connection.execute("SELECT count(*) FROM windows").fetchone()[0] == job.rows("windows").total() > 0


def test_a_snapshot_that_was_cut_since_is_waited_for(job: Job, tmp_path: Path) -> None:
    """Whatever comes of it; nobody wants one any more where nobody asks."""
    with job.world(2, Random(1)) as world:
        installed.install(world, stored)
        world.step(20)
        removing = begun(world, tmp_path / "asked-to-remove")
        assert not removing[0].is_ready() and len([*job.folder.path.glob(f"{WANTED}*")]) == 1
        removing[0].leave()
        assert not [*job.folder.path.glob(f"{WANTED}*")]
        removing = begun(world, tmp_path / "asked-again")
        until_ready(world, removing)
        world.take(copied=True, until="manifest")
        assert not removing[0].is_ready()
        until_ready(world, removing)


def test_what_has_failed_meanwhile_goes_at_once(job: Job, tmp_path: Path) -> None:
    with job.world(2, Random(1)) as world:
        installed.install(world, stored)
        world.step(20)
        removing = begun(world, tmp_path / "asked-to-remove")
        assert not removing[0].is_ready()
        world.group.workers[0].dataflows.failed["stored"] = Failure("it failed", frozenset())
        assert removing[0].is_ready()
        assert begun(world, tmp_path / "asked-again")[0].is_ready()
        removing[0].leave()


def test_who_asks_is_told_that_no_snapshot_could_be_taken(job: Job, tmp_path: Path) -> None:
    with job.world(2, Random(1)) as world:
        installed.install(world, stored)
        removing = begun(world, tmp_path / "asked-to-remove")
        assert not removing[0].is_ready()
        (wanted,) = job.folder.path.glob(f"{WANTED}*")
        write_whole(answer_to(wanted), {"error": "the disk is full"})
        assert not removing[0].is_ready() and removing[0].look() == 0
        (answer,) = (tmp_path / "asked-to-remove").iterdir()
        assert "'stored' is not removed" in answer.read_text() and "the disk is full" in answer.read_text()
