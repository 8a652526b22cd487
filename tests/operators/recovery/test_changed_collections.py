"""Collections of which another program makes something else: what came in is saved, and all is made of that. Against
plain Python, which makes it of all rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.errors import raises
from tests.operators.collections.feed import as_rows
from tests.operators.recovery.test_collections import KEYS, TIMES, Fed, FedJob, changes_of, live
from tests.operators.recovery.test_instants import Row, rows_of, source
from tests.operators.recovery.test_programs import SHARES, cut, go_on, read
from tests.operators.recovery.worlds import Declare, Job, Rows, World
from tests.random_programs.collections import SMALL, Scratch, random_plan, run_plan
from tests.random_programs.collections import Views as PlanViews
from tokenring.engine import OperatorError, RecoveryError
from tokenring.operators import (
    Count,
    Max,
    Min,
    Sum,
    aggregate,
    col,
    collection,
    filter,
    select,
    to_arrow_files,
    union,
    with_columns,
)
from tokenring.operators.collections.sharing import Views

ALL = [row for share in range(SHARES) for row in rows_of(share)]
LAST = max(at for at, _, _ in ALL)


def rows_in(scope: Any, **named: str) -> Any:
    """(k, v) from `at` on."""
    return collection(select(source(scope), "at", "k", "v"), time="at", **named)


def totals(rows: Any, results: Path, sink: str, what: Callable[[str], Any] = Sum) -> None:
    to_arrow_files(rows.aggregate("k", x=what("v")).changes(), results / sink)


def expected(rows: list[Row], at: int, fold: Callable[[list[int]], int] = sum) -> Rows:
    """The totals of a time."""
    found: dict[Any, list[int]] = {}
    for time, k, v in rows:
        if time <= at:
            found.setdefault(k, []).append(v)
    return Counter([(k, fold(values)) for k, values in found.items()])


def require(changes: Rows, since: int, right: Callable[[int], Rows], before: Rows | None = None) -> None:
    """Changes add up to what is right at each time from one on. before: what had been there, by other changes."""
    for time in range(since, LAST + 2):
        there: Rows = Counter(before)
        for (*row, at, times), often in changes.items():
            if at <= time:
                there[tuple(row)] += times * often
        assert {row: times for row, times in there.items() if times} == dict(right(time)), f"at {time}"


def each_once(changes: Rows) -> None:
    """Of each row and time there is one."""
    assert set(changes.values()) == {1}
    told = Counter([(*row, at) for *row, at, _ in changes])
    assert set(told.values()) == {1}


def sums(scope: Any, results: Path) -> None:
    totals(rows_in(scope), results, "sums")


def more(scope: Any, results: Path) -> None:
    """Before and behind, and a view by which what was arranged is arranged once more."""
    rows = rows_in(scope)
    rows.arrange("k").export("by k", history=100)
    totals(rows, results, "greatest", Max)
    totals(rows, results, "sums")


def begun_at(job: Job) -> int:
    """The time of the newest snapshot."""
    snapshot = job.folder.newest()
    assert snapshot is not None
    assert 0 < snapshot.manifest["time"] < LAST
    return int(snapshot.manifest["time"])


def first_time(world: World, name: str) -> int:
    """The first that all workers may read of a view."""
    return max([worker.view(name).since for worker in world.group.workers])


def all_that_can_be_read(world: World, name: str) -> Iterator[tuple[int, Rows]]:
    """What all workers have of a view, at each time at which they know it."""
    if any([name not in [view.name for view in worker.kept(Views)] for worker in world.group.workers]):
        return  # some have come to their end
    views = [worker.view(name) for worker in world.group.workers]
    for time in range(first_time(world, name), min([view.upper for view in views] + [LAST + 1])):
        found: Rows = Counter()
        for view in views:
            found.update(as_rows(view.at(time)))
        yield time, found


@pytest.mark.parametrize("steps", [10, 14, 18])
def test_what_is_new_is_made_of_all_that_ever_came(tmp_path: Path, steps: int) -> None:
    job = cut(tmp_path, sums, steps)
    since = begun_at(job)
    job.declare = more
    seen = 0
    for workers in (3, 1):
        with job.world(workers, Random(1)) as world:
            assert 0 < first_time(world, "by k") <= since
            while not world.is_over and seen < 40 * workers:
                world.step()
                for time, found in all_that_can_be_read(world, "by k"):
                    assert found == Counter([(k, v) for at, k, v in ALL if at <= time])
                    seen += 1
            world.take()
    assert seen > 20
    with job.world(1, Random(1)) as world:
        world.finish()
    each_once(job.rows("sums"))
    require(job.rows("sums"), 0, lambda time: expected(ALL, time))
    each_once(job.rows("greatest"))
    require(job.rows("greatest"), since, lambda time: expected(ALL, time, max))


def test_a_new_view_does_not_tell_of_times_that_are_forgotten(tmp_path: Path) -> None:
    """Of which nothing may be left: what was there then has gone."""

    def rows(scope: Any) -> Any:
        some = filter(source(scope), col("at") < 6)
        gone = select(some, k=col("k"), v=col("v"), when=col("at") + 2, times=-1)
        came = select(some, k=col("k"), v=col("v"), when=col("at"), times=1)
        return collection(union(came, gone), time="when", times="times")

    def now(scope: Any, results: Path) -> None:
        made = rows(scope)
        to_arrow_files(made.changes(), results / "changes")
        made.arrange("k").export("new", history=100)

    job = cut(tmp_path, lambda scope, results: to_arrow_files(rows(scope).changes(), results / "changes"), 18)
    since = begun_at(job)
    assert since > 7
    job.declare = now
    with job.world(1, Random(1)) as world:
        assert 7 < first_time(world, "new") <= since
        seen = 0
        while not world.is_over:
            world.step(3)
            for _, found in all_that_can_be_read(world, "new"):
                assert not found
                seen += 1
        assert seen


def test_changes_that_would_not_go_on_from_those_told_are_refused_unless_they_may_begin_anew(tmp_path: Path) -> None:
    def others(scope: Any, results: Path) -> None:
        totals(rows_in(scope), results, "sums", Max)

    def fewer(scope: Any, results: Path) -> None:
        totals(rows_in(scope).filter(col("v") > 30), results, "sums")

    for name, declare in (("others", others), ("fewer", fewer)):
        job = cut(tmp_path / name, sums)
        since, told = begun_at(job), job.rows("sums")
        assert told
        with raises(RecoveryError, "operator 'changes'", "other operators", "--drop changes,"):
            go_on(job, declare)
        go_on(job, declare, "changes")
        new = job.rows("sums") - told
        right = [row for row in ALL if row[2] > 30] if name == "fewer" else ALL
        require(new, since, lambda time: expected(right, time, max if name == "others" else sum))  # noqa: B023


WAYS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sums of each other's columns": (
        lambda rows: rows.aggregate("k", x=Sum("v"), y=Sum("w")),
        lambda rows: rows.aggregate("k", x=Sum("w"), y=Sum("v")),
    ),
    "the least": (lambda rows: rows.aggregate("k", x=Min("v")), lambda rows: rows.aggregate("k", x=Max("v"))),
    "more of the first": (
        lambda rows: rows.arrange("k").first(1).collection(), lambda rows: rows.arrange("k").first(2).collection()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_changes_made_another_way_by_the_same_operators_are_refused(tmp_path: Path, name: str) -> None:
    def declare(make: Callable[[Any], Any]) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            rows = with_columns(select(source(scope), "at", "k", "v"), w=col("v") % 7)
            to_arrow_files(make(collection(rows, time="at")).changes(), results / "changes")

        return flow

    was, now = WAYS[name]
    job = cut(tmp_path, declare(was))
    with raises(RecoveryError, "operator 'changes'", "other operators"):
        go_on(job, declare(now))
    go_on(job, declare(was))
    each_once(job.rows("changes"))


def test_what_an_arrangement_is_called_is_nothing_to_changes(tmp_path: Path) -> None:
    def declare(name: str) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            totals_by_k = rows_in(scope).arrange("k", name).aggregate("total", x=Sum("v"))
            to_arrow_files(totals_by_k.collection().changes(), results / "sums")

        return flow

    job = cut(tmp_path, declare("one"))
    go_on(job, declare("other"))
    each_once(job.rows("sums"))
    require(job.rows("sums"), 0, lambda time: expected(ALL, time))


def test_changes_are_told_apart_by_what_they_are_of(tmp_path: Path) -> None:
    def declare(*order: int) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            rows = rows_in(scope)
            for number in order:
                totals(rows.filter(col("v") % 3 == number), results, f"{number}")

        return flow

    job = cut(tmp_path, declare(0, 1, 2))
    with raises(RecoveryError, "operator 'changes#2'", "sink"):
        go_on(job, declare(2, 0))
    go_on(job, declare(2, 0), "changes#2", str(job.results / "1"))
    for number in (0, 2):
        each_once(job.rows(f"{number}"))
        rows = [row for row in ALL if row[2] % 3 == number]
        require(job.rows(f"{number}"), 0, lambda time: expected(rows, time))  # noqa: B023


def test_changes_of_the_same_are_told_apart_by_their_names(tmp_path: Path) -> None:
    def declare(**names: str) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            summed = rows_in(scope).aggregate("k", x=Sum("v"))
            for sink, name in names.items():
                to_arrow_files(summed.changes(name=name), results / sink)

        return flow

    job = cut(tmp_path, declare(old="changes"))
    since = begun_at(job)
    with raises(RecoveryError, "called 'changes'", "as 'changes' cannot be told", "new ones another"):
        go_on(job, declare(new="changes", old="changes"))
    go_on(job, declare(new="others", old="changes"))
    for sink in ("old", "new"):
        each_once(job.rows(sink))
        require(job.rows(sink), since if sink == "new" else 0, lambda time: expected(ALL, time))


@pytest.mark.parametrize("seed", range(8))
def test_plans_may_be_added_to_plans(tmp_path: Path, seed: int) -> None:
    """Whatever they are, and in whatever order: the old one tells each change once, as if it had been alone."""
    random = Random(f"plans {seed}")
    workers = random.randint(1, 2)
    fed = Fed(random, workers)
    plans = [random_plan(random, SMALL, 3, steps=3) for _ in range(2)]
    order = random.choice([(0, 1), (1, 0)])

    def declare(*numbers: int) -> Callable[..., None]:
        def flow(scope: Any, results: Path, *inputs: Any) -> None:
            for number in numbers:
                made = run_plan(plans[number], PlanViews(KEYS), list(inputs))
                to_arrow_files(made.changes(name=f"changes {number}"), results / f"{number}")

        return flow

    def right(number: int, time: int) -> Rows:
        return +run_plan(plans[number], Scratch(KEYS), fed.at(time)) if time >= 0 else Counter()

    job = FedJob(tmp_path, fed, declare(0))
    since = 0
    for life in range(4):
        if life == 2:
            job.build = declare(*order)
            snapshot = job.folder.newest()
            assert snapshot is not None
            since = max([since for one in snapshot.manifest["workers"] for since in one["since"].values()])
        with job.world(workers, random, queue_bytes=8192) as world:
            if life == 3:
                while not live(job, world, random, 20):
                    pass
                job.close()
                world.finish()
            else:
                live(job, world, random, random.randint(5, 25))
                world.take()
    assert job.rows("0") == changes_of(partial(right, 0))
    for time in range(since, TIMES + 1):
        there: Rows = Counter()
        for (*row, at, times), often in job.rows("1").items():
            there[tuple(row)] += times * often * (at <= time)
        assert {row: times for row, times in there.items() if times} == dict(right(1, time)), f"at {time}"


def test_rows_before_they_come_in_may_come_another_way(tmp_path: Path) -> None:
    """What came in is what it was; it goes by the name of the collection."""

    def other(scope: Any, results: Path) -> None:
        new = collection(select(source(scope, "new"), "at", "k", "v"), time="at", name="new")
        totals(new, results, "new")
        rows = filter(source(scope), col("v") % 20 != 0)
        totals(collection(select(rows, "at", "k", "v"), time="at"), results, "sums")

    job = cut(tmp_path, sums)
    before, after = read(job)
    go_on(job, other)
    each_once(job.rows("sums"))
    require(job.rows("sums"), 0, lambda time: expected(before + [row for row in after if row[2] % 20], time))
    require(job.rows("new"), 0, lambda time: expected(ALL, time))


def test_a_collection_that_is_gone_is_refused_and_begins_empty_if_it_may_go(tmp_path: Path) -> None:
    job = cut(tmp_path, sums)
    since, told = begun_at(job), job.rows("sums")
    _, after = read(job)

    def renamed(scope: Any, results: Path) -> None:
        totals(rows_in(scope, name="other"), results, "sums")

    with raises(RecoveryError, "operator 'updates.kept'", "--drop updates.kept "):
        go_on(job, renamed)
    go_on(job, renamed, "updates.kept", "changes")
    require(job.rows("sums") - told, since, lambda time: expected(after, time))


def test_rows_of_a_new_source_are_late_for_changes_that_were_told(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        rows = union(source(scope), source(scope, "new"))
        totals(collection(select(rows, "at", "k", "v"), time="at"), results, "sums")

    job = cut(tmp_path, sums)
    with raises(OperatorError, "'new'", f"nothing before {begun_at(job)}"):
        go_on(job, declare)


def by_key(scope: Any, *names: str) -> Any:
    rows = {name: select(source(scope, name), "at", "k", "v") for name in names}
    return {name: collection(rows[name], time="at", key="k", name=f"last of {name}") for name in names}


def test_rows_by_key_go_on_beside_new_ones(tmp_path: Path) -> None:
    def declare(*names: str) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            for name, rows in by_key(scope, *names).items():
                to_arrow_files(rows.to_upserts("k", name=f"said of {name}"), results / name)

        return flow

    last: Rows = Counter()
    there: dict[Any, int] = {}
    for at in range(LAST + 1):
        now = {k: max(v for time, one, v in ALL if (time, one) == (at, k)) for time, k, _ in ALL if time == at}
        last.update([(k, v, at, False) for k, v in now.items() if there.get(k) != v])
        there |= now
    job = cut(tmp_path, declare("rows"))
    go_on(job, declare("new", "rows"), workers=2)
    assert job.rows("rows").keys() == last.keys()
    assert {row[:1] + row[2:] for row in job.rows("new")} == {row[:1] + row[2:] for row in last}


def test_operators_of_one_name_behind_collections_go_on(tmp_path: Path) -> None:
    """What is there only where a run goes on changes nothing of where they are."""

    def declare(*order: int) -> Declare:
        def flow(scope: Any, results: Path) -> None:
            rows = rows_in(scope)
            for number in order:
                told = rows.filter(col("v") % 2 == number).aggregate("k", x=Sum("v")).changes()
                found = aggregate(told, "k", n=Count(), emit="final")
                to_arrow_files(found, results / f"{number}")

        return flow

    job = cut(tmp_path, declare(0, 1))
    go_on(job, declare(1, 0))
    for number in range(2):
        told: Rows = Counter()
        before: Rows = Counter()
        for time in range(LAST + 1):
            now = expected([row for row in ALL if row[2] % 2 == number], time)
            told.update([row[0] for row in (now - before) + (before - now)])
            before = now
        assert job.rows(f"{number}") == Counter(told.items())
