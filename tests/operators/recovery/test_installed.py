"""Dataflows that are installed come back with the run, and what they hand out is there once."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.errors import raises
from tests.operators.recovery.test_instants import ROW, Row, rows_of, source
from tests.operators.recovery.worlds import Job, Rows, World
from tokenring.engine import GraphError, RecoveryError, UsageError
from tokenring.engine.install import Installed, code_of
from tokenring.engine.install.installing import drop, install_here
from tokenring.operators import Count, Max, Sum, Tumbling, aggregate, collection, select, to_arrow_files, to_database
from tokenring.operators.collections import import_arrangement
from tokenring.operators.collections.sharing import Views

UNTIL = 22
INSTALLED = ["joined", "changes", "behind_another", "windows"]
RESULTS: list[Path] = []
"""Where installed dataflows write to; workers import them by name, and so cannot be told otherwise."""


def totals(scope: Any, results: Path) -> None:
    """The program's dataflow: counts and sums by key, arranged under a name."""
    rows = source(scope, disorder=3)
    kept = collection(rows, time="at").aggregate("k", n=Count(), total=Sum("v"))
    kept.arrange("k").export("totals")
    to_arrow_files(kept.changes(), results / "told")


def changes(scope: Any) -> None:
    """What becomes of the totals, and of the greatest of them."""
    shared = import_arrangement(scope, "totals")
    to_arrow_files(shared.collection().changes(name="all"), RESULTS[0] / "all")
    greatest = shared.collection().aggregate("n", most=Max("total"))
    to_arrow_files(greatest.changes(name="greatest"), RESULTS[0] / "greatest")
    greatest.arrange("n").export("greatest")


def joined(scope: Any) -> None:
    """The totals beside counts of rows of its own, which may be far behind the program's."""
    own = collection(source(scope, "own", at_once=1, disorder=3), time="at").aggregate("k", own=Count())
    both = import_arrangement(scope, "totals").collection().join(own, "k")
    to_arrow_files(both.changes(), RESULTS[0] / "joined")


def raw(scope: Any) -> None:
    to_arrow_files(import_arrangement(scope, "totals").collection().stream, RESULTS[0] / "raw")


def windows(scope: Any) -> None:
    """Rows of its own."""
    found = aggregate(source(scope, "own"), "k", window=Tumbling("at", 4), n=Count(), total=Sum("v"))
    to_arrow_files(select(found, "k", "window_end", "n", "total"), RESULTS[0] / "windows")


def finished(scope: Any) -> None:
    to_arrow_files(source(scope, "own"), RESULTS[0] / "finished", commit="finished")


def stored(scope: Any) -> None:
    to_database(source(scope, "own"), RESULTS[0] / "it.db", "finished", commit="finished")


def behind_another(scope: Any) -> Any:
    """What another installed dataflow exports."""
    return import_arrangement(scope, "greatest").aggregate(most=Max("most"))


def fed(scope: Any) -> None:
    scope.new_collection(ROW, "by hand")


def raises_when_called(scope: Any) -> None:
    raise ValueError("not today")


def all_until(time: int, shares: int) -> list[Row]:
    return [row for share in range(shares) for row in rows_of(share) if row[0] <= time]


def totals_at(time: int, shares: int) -> Rows:
    found: dict[Any, list[int]] = {}
    for _, k, v in all_until(time, shares):
        found.setdefault(k, []).append(v)
    return Counter({(k, len(values), sum(values)): 1 for k, values in found.items()})


def greatest_at(time: int, shares: int) -> Rows:
    found: dict[int, int] = {}
    for _, n, total in totals_at(time, shares):
        found[n] = max(found.get(n, total), total)
    return Counter({each: 1 for each in found.items()})


def joined_at(time: int, shares: int) -> Rows:
    own = Counter([k for _, k, _ in all_until(time, shares)])
    return Counter({(*row, own[row[0]]): 1 for row in totals_at(time, shares) if row[0] is not None})


def windows_of(shares: int) -> Rows:
    found: dict[Any, list[int]] = {}
    for at, k, v in all_until(UNTIL, shares):
        found.setdefault((k, at // 4 * 4 + 4), []).append(v)
    return Counter([(*key, len(values), sum(values)) for key, values in found.items()])


def at_times(told: Rows, time: int) -> Rows:
    """What there is at a time, of changes: (*row, time, times)."""
    there: Rows = Counter()
    for change, often in told.items():
        if change[-2] <= time:
            there[change[:-2]] += change[-1] * often
    return Counter({row: times for row, times in there.items() if times})


def install(world: World, function: Any) -> None:
    """Have all workers install it, at one place, where each hears what the others say."""
    workers = world.group.workers
    since = max([view.since for worker in workers for view in worker.kept(Views)], default=0)
    for worker in workers:
        hears = patch.multiple(worker.agreement, greatest=partial(max, since), is_so_for_any=bool)
        with world.group.building(worker), hears:
            install_here(worker, function.__name__, code_of(f"{__name__}:{function.__name__}"))


def names_in(world: World) -> list[list[str]]:
    return [list(worker.kept(Installed).named) for worker in world.group.workers]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    RESULTS[:] = [tmp_path / "results"]
    return Job(tmp_path, totals)


@pytest.mark.parametrize("seed", range(24))
def test_what_an_installed_dataflow_hands_out_is_there_once(job: Job, seed: int) -> None:
    """Wherever it was installed and cut, on whatever number of workers it goes on. What is told at first is as of the
    time at which it was installed."""
    random = Random(seed)
    shares = workers = random.choice([1, 2, 3])
    is_installed = False
    least = 0
    for _ in range(random.choice([2, 3, 4])):
        with job.world(workers, random, keep=9) as world:
            assert names_in(world) == [INSTALLED if is_installed else []] * workers
            world.step(random.randrange(50))
            if not is_installed:
                views = [view for worker in world.group.workers for view in worker.kept(Views)]
                if len(views) < workers:  # all is over
                    break
                least = max([view.since for view in views])
                for name in INSTALLED:
                    install(world, globals()[name])
            world.step(random.randrange(50))
            if random.random() < 0.5:
                world.take(copied=True)
                world.step(random.randrange(30))
            until = random.choice(["", "", "rest", "manifest", "results"])
            world.take(until=until)
            newest = job.folder.newest()
            is_installed = newest is not None and "changes" in newest.installed
        workers = random.choice([1, 2, 3])
    if not is_installed:
        return
    with job.world(workers, random) as world:
        world.finish()
    told, of_all, greatest, both = (job.rows(sink) for sink in ("told", "all", "greatest", "joined"))
    for time in range(UNTIL):
        assert at_times(told, time) == totals_at(time, shares)
        assert time < least or at_times(of_all, time) == totals_at(time, shares)
        assert time < least or at_times(greatest, time) == greatest_at(time, shares)
        assert time < least or at_times(both, time) == joined_at(time, shares)
    assert job.rows("windows") == windows_of(shares)


def cut_with(job: Job, *functions: Any) -> None:
    """A run in which these are installed, and that is cut behind a snapshot."""
    with job.world(2, Random(1)) as world:
        world.step(20)
        for function in functions:
            install(world, function)
        world.step(20)
        world.take()


def test_what_was_removed_does_not_come_back(job: Job) -> None:
    cut_with(job, changes, windows)
    with job.world(2, Random(2)) as world:
        assert names_in(world) == [["changes", "windows"]] * 2
        for worker in world.group.workers:
            with world.group.building(worker):
                worker.kept(Installed).remove("windows").cancel()
        world.step(50)
        world.take()
    with job.world(3, Random(3)) as world:
        assert names_in(world) == [["changes"]] * 3
        world.finish()
    assert at_times(job.rows("all"), UNTIL) == totals_at(UNTIL, 2)


def test_what_cannot_come_back_is_refused_unless_it_may_go(
    job: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_with(job, changes, windows)
    with monkeypatch.context() as patched:
        patched.setitem(globals(), "windows", raises_when_called)
        with (
            raises(RecoveryError, "dataflow 'windows'", "not today", "--drop windows", f"{__name__}:windows"),
            job.world(2, Random(2)),
        ):
            pass
        patched.delitem(globals(), "windows")
        with raises(RecoveryError, "no function 'windows'", "--drop windows"), job.world(2, Random(2)):
            pass
        with job.world(2, Random(2), drop=["windows"]) as world:
            assert names_in(world) == [["changes"]] * 2
            assert "'windows'" in capsys.readouterr().err
            world.take()
    with job.world(2, Random(2), drop=["changes"]) as world:
        assert names_in(world) == [["changes"]] * 2, "it may go, and can stay"
        world.finish()
    assert at_times(job.rows("all"), UNTIL) == totals_at(UNTIL, 2)
    assert job.rows("windows") < windows_of(2), "what came before"


def test_what_has_changed_is_refused_where_it_would_lose_what_was_kept(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_with(job, windows)

    def others(scope: Any) -> None:
        found = aggregate(source(scope, "own"), "k", window=Tumbling("at", 5), n=Count())
        to_arrow_files(select(found, "k", "window_end", "n"), RESULTS[0] / "windows")

    monkeypatch.setitem(globals(), "windows", others)
    with raises(RecoveryError, "would lose", "'aggregate'", "--drop aggregate"), job.world(2, Random(2)):
        pass
    with job.world(2, Random(2), drop=["aggregate", str(RESULTS[0] / "windows")]) as world:
        world.step(50)


def test_what_another_operator_of_the_same_name_keeps_is_nobody_elses(job: Job) -> None:
    """Names are told apart by the dataflow."""

    def declared(scope: Any, results: Path) -> None:
        found = aggregate(source(scope, "own"), "k", window=Tumbling("at", 4), n=Count())
        to_arrow_files(select(found, "k", "window_end", "n"), results / "counts")

    job.declare = declared
    cut_with(job, windows)
    for seed in range(3):
        with job.world(2, Random(seed)) as world:
            world.step(10 * seed)
            world.take(copied=True)
            world.step(20)
    with job.world(1, Random(4)) as world:
        world.finish()
    assert job.rows("windows") == windows_of(2)
    assert job.rows("counts") == Counter([row[:3] for row in windows_of(2)])


def test_updates_that_come_again_are_not_handed_out_as_they_are(job: Job) -> None:
    with job.world(1, Random(1)) as world, raises(GraphError, "changes()", "'to_arrow_files'"):
        install(world, raw)


@pytest.mark.parametrize(("function", "cure"), [(finished, "choose another folder"), (stored, "name=")])
def test_results_of_finished_times_do_not_begin_anew(job: Job, function: Any, cure: str) -> None:
    """What is earlier than they are would be missing, and changes would tell once more all that is there."""
    RESULTS[0].mkdir()
    with job.world(1, Random(1)) as world:
        install(world, function)
        world.step(60)
        (worker,) = world.group.workers
        with world.group.building(worker):
            drop(worker, function.__name__)
        with raises(UsageError, "exists already", cure):
            install(world, function)


def test_inputs_that_nobody_could_feed_are_refused_as_without_recovery(job: Job) -> None:
    with job.world(1, Random(1)) as world, raises(UsageError, f"{__name__}:fed", "nobody could feed", "'by hand'"):
        install(world, fed)


def test_what_is_installed_before_the_program_declares_anything_waits_for_that(job: Job) -> None:
    with job.world(1, Random(1)) as world:
        (worker,) = world.group.workers
        saving = worker.saving
        install(world, windows)
        assert [one.name for one in saving.dataflows] == ["", "windows"] and saving.is_built
        saving._main = None
        assert [one.name for one in saving.dataflows] == ["windows"] and not saving.is_built


def test_two_sinks_have_no_folder_in_common(job: Job) -> None:
    with job.world(1, Random(1)) as world:
        install(world, windows)
        (worker,) = world.group.workers
        with world.group.building(worker), raises(UsageError, "another sink", "windows"):
            install_here(worker, "again", code_of(f"{__name__}:windows"))
        with world.group.building(worker):
            drop(worker, "windows")
            install_here(worker, "again", code_of(f"{__name__}:windows"))


def test_a_sink_in_the_folder_of_one_that_is_gone_is_refused(job: Job) -> None:
    """Also where that is gone: each snapshot would miss it."""
    cut_with(job, windows)
    with job.world(1, Random(1), keep=9) as world:
        (worker,) = world.group.workers
        world.take(copied=True)
        with world.group.building(worker):
            drop(worker, "windows")
        world.take(copied=True)
        with raises(UsageError, "'to_arrow_files'", str(job.folder.path), "no sink there now", "leave them"):
            install(world, windows)
        (RESULTS[0] / "windows").rename(RESULTS[0] / "moved")
        with raises(RecoveryError, str(RESULTS[0] / "windows"), "is gone", "empty folder"):
            install(world, windows)
        (RESULTS[0] / "windows").mkdir()
        install(world, windows)
        world.step(40)
        world.take(copied=True)
    assert job.rows("windows")
