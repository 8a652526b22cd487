"""Collections whose workers die: wherever a run is cut, what they hand out is there once, and views are what they would
be, against plans done to all rows at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.feed import as_rows
from tests.operators.recovery.test_instants import at_rest, source
from tests.operators.recovery.worlds import Job, Rows, World
from tests.random_programs.collections import SMALL, Plan, Scratch, Views, random_plan, run_plan
from tokenring.engine import GraphError, Worker
from tokenring.operators.collections import sharing

TIMES, KEYS, VALUES = 9, SMALL.keys, 4
LATER = TIMES + 1  # by then all is finished
ROW = tr.Schema("k v")


class Deed(NamedTuple):
    """What a program does to an input: it says rows (k, v, how often, time), or goes on to a time."""

    input: int
    rows: list[tuple[int, int, int, int]]
    time: int


class Fed:
    """Two inputs of rows that come and go, and one of rows by key; and what each worker does, in its order: rows may be
    sent before it is time, and one input may stay behind another."""

    def __init__(self, random: Random, workers: int) -> None:
        self.tapes: list[list[Deed]] = [[] for _ in range(workers)]
        self.updates: list[list[tuple[int, int, int, int]]] = [[], []]
        self.by_key: list[dict[int, int]] = []
        there: list[Rows] = [Counter(), Counter()]
        sent = [[[list[Deed]() for _ in range(TIMES)] for _ in range(3)] for _ in range(workers)]
        for time in range(TIMES):
            self.by_key.append(dict(self.by_key[-1]) if time else {})
            for number in range(3):
                for worker in range(workers):  # of one key and time, what the last worker says holds
                    early = max(0, time - random.choice([0, 0, 1, 3]))
                    for _ in range(random.choice([0, 0, 1, 2])):
                        k, v, goes = random.randrange(KEYS), random.randrange(VALUES), random.random() < 0.4
                        if number < 2:
                            times = -1 if goes and there[number][k, v] > 0 else 1
                            there[number][k, v] += times
                            self.updates[number].append((k, v, times, time))
                        else:
                            times = -1 if goes else 1
                            self.by_key[-1][k] = -1 if goes else v
                        sent[worker][number][early].append(Deed(number, [(k, v, times, time)], -1))
        for worker, of_inputs in enumerate(sent):
            left = [
                [deed for time, deeds in enumerate(of_times) for deed in (*deeds, Deed(number, [], time + 1))]
                for number, of_times in enumerate(of_inputs)
            ]
            paces = [random.choice([1.0, 0.2]) for _ in left]
            while any(left):
                (tape,) = random.choices(left, [pace * bool(one) for pace, one in zip(paces, left, strict=True)])
                self.tapes[worker].append(tape.pop(0))

    def at(self, time: int) -> list[Rows]:
        """What each input is at a time."""
        by_key = self.by_key[min(time, TIMES - 1)]
        found: list[Rows] = [Counter(), Counter(), Counter([(k, v) for k, v in by_key.items() if v >= 0])]
        for rows, updates in zip(found, self.updates, strict=False):
            for k, v, times, when in updates:
                if when <= time:
                    rows[k, v] += times
        return [+rows for rows in found]


class FedJob(Job):
    """A job whose programs do what is on their tapes, and save how far they are."""

    def __init__(self, path: Path, fed: Fed, build: Callable[..., None], has_views: bool = False) -> None:
        super().__init__(path, lambda scope, results: None)
        self.fed, self.build, self.has_views = fed, build, has_views
        self.handles: dict[int, list[Any]] = {}
        self.done: dict[int, int] = {}

    def _build(self, group: Any) -> Callable[[Worker], None]:
        def program(worker: Any) -> None:
            index = worker.index
            self.done[index] = 0 if worker.resumed is None else worker.resumed["done"]
            worker.save("done", lambda: self.done[index])
            with group.building(worker), worker.dataflow("job") as scope:
                made = [scope.new_collection(ROW, f"input{n}", key="k" if n == 2 else None) for n in range(3)]
                self.build(scope, self.results, *[rows for _, rows in made])
            self.handles[index] = [handle for handle, _ in made]

        return program

    def is_done(self, worker: int) -> bool:
        """Whether a program has done all."""
        return self.done[worker] == len(self.fed.tapes[worker])

    def close(self) -> None:
        """Let all programs end."""
        for handle in [handle for handles in self.handles.values() for handle in handles]:
            handle.close()

    def go_on(self, worker: int) -> None:
        """Let a program do what is next, if anything is."""
        if self.is_done(worker):
            return
        deed = self.fed.tapes[worker][self.done[worker]]
        handle = self.handles[worker][deed.input]
        for k, v, times, time in deed.rows:
            if deed.input < 2:
                handle.update({"k": [k], "v": [v]}, times, time)
            elif times > 0:
                handle.upsert({"k": [k], "v": [v]}, time)
            else:
                handle.delete({"k": [k]}, time)
        if deed.time >= 0:
            handle.advance_to(deed.time)
        self.done[worker] += 1


def live(job: FedJob, world: World, random: Random, most: int) -> bool:
    """Some deeds and steps; whether all is done."""
    workers = range(len(world.group.workers))
    for _ in range(most):
        world.step(random.choice([0, 1, 4, 20]))
        job.go_on(random.choice(workers))
    return all([job.is_done(worker) for worker in workers])


def readable(views: list[tr.View]) -> range:
    """The times at which all workers can read a view."""
    return range(max([view.since for view in views]), min([view.upper for view in views] + [LATER]))


def rows_at(views: list[tr.View], time: int) -> Rows:
    found: Rows = Counter()
    for view in views:
        found.update(as_rows(view.at(time)))
    return found


def require_views(job: FedJob, world: World, expected: Callable[[int], Rows]) -> None:
    """All that can be read is right, or said to be wrong."""
    workers = world.group.workers
    if job.has_views:
        made = [worker.view("made") for worker in workers]
        for time in readable(made):
            assert rows_at(made, time) == expected(time), f"at {time}"
    quotients = [view for worker in workers for view in worker.kept(sharing.Views) if view.name == "quotients"]
    for time in readable(quotients) if quotients else ():
        rows = job.fed.at(time)[0]
        zeros = {str({"k": k, "v": v}): times for (k, v), times in rows.items() if v == 0}
        for view in quotients:
            assert {one["row"]: one["times"] for one in view.errors(time).to_pylist()} == zeros
        if zeros:
            with raises(tr.RejectedRowsError, "quotients"):
                rows_at(quotients, time)
        else:
            assert rows_at(quotients, time) == Counter({(k, 100 // v): times for (k, v), times in rows.items()})


def changes_of(expected: Callable[[int], Rows]) -> Rows:
    found: Rows = Counter()
    for time in range(TIMES + 1):
        now, before = expected(time), expected(time - 1) if time else Counter()
        for row in {*now, *before}:
            if now[row] != before[row]:
                found[(*row, time, now[row] - before[row])] += 1
    return found


def upserts_of(expected: Callable[[int], Rows]) -> Rows:
    """Of each key the number of its rows, where that changes."""
    found: Rows = Counter()

    def counts(time: int) -> Counter[int]:
        made: Counter[int] = Counter()
        for (k, _), times in expected(time).items() if time >= 0 else ():
            made[k] += times
        return made

    for time in range(TIMES + 1):
        now, before = counts(time), counts(time - 1)
        for k in {*now, *before}:
            if now[k] != before[k]:
                found[k, now[k] or None, time, not now[k]] += 1
    return found


def build(plan: Plan, history: int | None, by_value: bool, fails: bool) -> Callable[..., None]:
    """What is made of the inputs; history: of its view, if it has one, whose history keeps others' past, too. by_value:
    whether the rows of an input are arranged by another key than those that come of it. fails: whether there is a view
    of what an operator fails at."""

    def declare(scope: Any, results: Path, *inputs: Any) -> None:
        if by_value:
            inputs[1].arrange("v")
        made = run_plan(plan, Views(KEYS), list(inputs))
        tr.to_arrow_files(made.changes(), results / "changes")
        tr.to_arrow_files(made.aggregate("k", n=tr.Count()).to_upserts("k"), results / "upserts")
        if history is not None:
            made.arrange("k").export("made", history=history)
        if fails:
            inputs[0].select(k=tr.col("k"), v=100 // tr.col("v")).arrange("k").export("quotients")

    return declare


def let_go_of_faults(world: World) -> None:
    """As workers do that are killed: the files of what they failed at stay."""
    for view in [view for worker in world.group.workers for view in worker.kept(sharing.Views)]:
        told = view._rejected._told
        if told._file is not None:
            told._file.close()
            os.close(told._lock)
            told._file = None


def play(path: Path, seed: int) -> None:
    random = Random(f"collections {seed}")
    workers = random.randint(1, 3)
    plan = random_plan(random, SMALL, 3, steps=4)
    fed = Fed(random, workers)
    scratch: dict[int, Rows] = {}

    def expected(time: int) -> Rows:
        if time not in scratch:
            scratch[time] = +run_plan(plan, Scratch(KEYS), fed.at(time))
        return scratch[time]

    history = random.choice([None, 0, 2])
    declare = build(plan, history, random.random() < 0.3, random.random() < 0.5)
    job = FedJob(path, fed, declare, history is not None)
    for life in range(lives := random.randint(2, 6)):
        with job.world(workers, random, queue_bytes=8192) as world:
            if life == lives - 1:
                while not live(job, world, random, 20):
                    require_views(job, world, expected)
                job.close()
                world.finish()
                break
            is_done = live(job, world, random, random.randint(1, 40))
            require_views(job, world, expected)
            if is_done and random.random() < 0.5:
                job.close()
                at_rest(world)
            world.take(copied=random.random() < 0.02, checked=random.random() < 0.1)
            let_go_of_faults(world)
    assert job.rows("changes") == changes_of(expected), plan.told()
    assert job.rows("upserts") == upserts_of(expected), plan.told()


@pytest.mark.parametrize("seed", [*range(8), 35, 45])
def test_a_run_may_be_cut_anywhere(tmp_path: Path, seed: int) -> None:
    play(tmp_path, seed)


def test_rows_by_key_hold_in_the_order_of_their_share(tmp_path: Path) -> None:
    """Whoever sends it, and had sent of it before: each share has keys of its own, of which many rows are of one time.
    """
    schema, rows = tr.Schema("at k v", gone="bool"), 60

    def share(number: int, shares: int) -> list[tuple[int, int, int, bool]]:
        random = Random(number)
        return [(at // 20, random.randrange(2) * shares + number, at, random.random() < 0.3) for at in range(rows)]

    def declare(scope: Any, results: Path) -> None:
        def function(number: int, shares: int) -> Iterator[dict[str, list[Any]]]:
            for row in share(number, shares):
                yield dict(zip(schema.names, [[value] for value in row], strict=True))

        said = tr.from_generator(scope, schema, function, time="at")
        kept = tr.collection(said, time="at", key="k", deleted="gone")
        tr.to_arrow_files(kept.changes(), results / "changes")

    expected: Rows = Counter()
    for number in range(2):
        before: dict[int, int | None] = {}
        for time in range(rows // 20):
            now = before | {k: None if gone else v for at, k, v, gone in share(number, 2) if at == time}
            for k in now:
                if now[k] != before.get(k):
                    both = (now[k], 1), (before.get(k), -1)
                    expected.update([(k, v, time, times) for v, times in both if v is not None])
            before = now
    for seed in range(12):
        job, random = Job(tmp_path / f"{seed}", declare), Random(seed)
        for workers in (2, random.choice([1, 2, 3]), random.choice([1, 2, 3])):
            with job.world(workers, random) as world:
                world.step(random.randrange(60))
                world.take()
        with job.world(random.choice([1, 2, 3]), random) as world:
            world.finish()
        assert job.rows("changes") == expected


def test_rows_by_key_hold_over_what_their_worker_said_before(tmp_path: Path) -> None:
    """And under what one of a higher number said of the time."""

    def declare(scope: Any, results: Path, *inputs: Any) -> None:
        tr.to_arrow_files(inputs[2].changes(), results / "changes")

    def said(k: int, *values: int) -> list[Deed]:
        return [Deed(2, [(k, v, 1, 3)], -1) for v in values]

    job, random = FedJob(tmp_path, Fed(Random(1), 2), declare), Random(1)
    job.fed.tapes = [[*said(1, 1, 2), *said(1, 3), *said(2, 4)], [*said(2, 1, 2, 3), *said(3, 4), *said(3, 5)]]
    for deeds in ((2, 4), (2, 1)):
        with job.world(2, random) as world:
            for worker, often in enumerate(deeds):
                for _ in range(often):
                    job.go_on(worker)
            world.take()
    with job.world(2, random) as world:
        job.close()
        world.finish()
    assert job.rows("changes") == Counter([(1, 3, 3, 1), (2, 3, 3, 1), (3, 5, 3, 1)])


def test_messages_are_no_earlier_than_what_was_finished(tmp_path: Path) -> None:
    """Which those who go by messages' times behind it may have heard of."""
    rows = Fed(Random(1), 1)
    seen: list[tuple[int, list[int]]] = []

    def declare(scope: Any, results: Path, *inputs: Any) -> None:
        tr.for_each(inputs[0].changes(), lambda time, batch: seen.append((time, batch["time"].tolist())))

    job = FedJob(tmp_path, rows, declare)
    rows.tapes[0] = [Deed(0, [(1, 1, 1, time)], -1) for time in range(6)] + [Deed(0, [], 3), Deed(0, [], 6)]
    with job.world(1, Random(1)) as world:
        for _ in range(7):
            job.go_on(0)
        world.take()
        assert seen == [(0, [0, 1, 2])]
    seen.clear()
    with job.world(1, Random(1)) as world:
        job.go_on(0)
        world.step(50)
        assert seen == [(3, [3, 4, 5])]


def test_what_was_forgotten_is_not_kept_by_who_asks_for_it_again(tmp_path: Path) -> None:
    job = FedJob(tmp_path, Fed(Random(1), 1), lambda scope, results, *inputs: inputs[0].arrange("k").export("rows"))
    job.fed.tapes[0] = [Deed(0, [(1, 1, 1, time)], -1) for time in range(6)]
    job.fed.tapes[0] += [Deed(number, [], 6) for number in range(3)]
    with job.world(1, Random(1)) as world:
        for _ in job.fed.tapes[0]:
            job.go_on(0)
        world.step(50)
        (worker,) = world.group.workers
        assert worker.view("rows").since == 5
        world.take()
    with job.world(1, Random(1)) as world:
        (worker,) = world.group.workers
        with raises(tr.ReadTimeError, "rows", "cannot be read"):
            worker.view("rows").keep_since(3)
        world.step(50)
        assert as_rows(worker.view("rows").at(5)) == Counter({(1, 1): 6})


ESCAPES: dict[str, Callable[[Any, Path], object]] = {
    "for_each": lambda scope, results: tr.for_each(collected(scope).stream, lambda *_: None),
    "to_arrow_files": lambda scope, results: tr.to_arrow_files(collected(scope).stream, results / "rows"),
    "aggregate": lambda scope, results: tr.aggregate(collected(scope).distinct().stream, "v", n=tr.Count()),
}


def collected(scope: Any) -> tr.Collection:
    return tr.collection(tr.select(source(scope), "at", "v"), time="at")


@pytest.mark.parametrize("name", ESCAPES)
def test_updates_leave_as_changes(tmp_path: Path, name: str) -> None:
    def declare(scope: Any, results: Path) -> None:
        ESCAPES[name](scope, results)

    job = Job(tmp_path, declare)
    with raises(GraphError, name, "changes()"), job.world(1, Random(1)):
        pass
