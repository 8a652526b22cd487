"""Wherever a run is cut, once or several times, its results are those of one that was not: against plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.engine.helpers import key_for
from tests.errors import raises
from tests.operators.recovery.worlds import Job, Rows, World
from tokenring.engine import Schema, Token, UsageError, Worker
from tokenring.operators import (
    Count,
    Sum,
    Tumbling,
    aggregate,
    col,
    filter,
    from_generator,
    join,
    map_batches,
    select,
    state_moves,
    to_arrow_files,
    top,
    union,
    with_columns,
)

ROW = Schema.of({"at": "int64", "k": "string?", "v": "int64"})
Row = tuple[int, str | None, int]
KEYS = ("a", None, "a longer key than eight bytes")


def rows_of(share: int, until: int = 22, every: int = 1) -> list[Row]:
    """What one share of a source sends, in order."""
    return [(at, KEYS[(at + share) % 3], 10 * at + share) for at in range(0, until, every)]


def source(scope: Any, name: str = "rows", at_once: int = 2, disorder: int = 0, **cut: int) -> Any:
    def function(share: int, shares: int) -> Iterator[dict[str, list[Any]]]:
        rows = rows_of(share, **cut)
        for first in range(0, len(rows), at_once):
            columns = zip(*rows[first : first + at_once], strict=True)
            yield dict(zip(ROW.names, map(list, columns), strict=True))

    return from_generator(scope, ROW, function, time="at", disorder=disorder, name=name)


def windows(scope: Any, results: Path, more: bool = False) -> None:
    """Of two sources, of which one is done long before the other. more: and again."""
    rows = union(source(scope), source(scope, "few", until=9, every=3))
    found = aggregate(rows, "k", window=Tumbling("at", 4), n=Count(), total=Sum("v"))
    to_arrow_files(select(found, "k", "window_end", "n", "total"), results / "windows")
    if more:
        to_arrow_files(aggregate(rows, "k", window=Tumbling("at", 4), name="more", n=Count()), results / "more")


def expected_windows(shares: int) -> Rows:
    found: dict[Any, list[int]] = {}
    for share in range(shares):
        for at, k, v in rows_of(share) + rows_of(share, 9, 3):
            found.setdefault((k, at // 4 * 4 + 4), []).append(v)
    return Counter([(*key, len(values), sum(values)) for key, values in found.items()])


def at_rest(world: World) -> None:
    """Let all rows be read, and all results be written."""
    while not world.is_over:
        world.step(8)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_run_may_be_cut_after_any_step(tmp_path: Path, workers: int) -> None:
    for steps in (0, 3, 8, 13, 19, 26, 40, 90):
        job = Job(tmp_path / f"{steps}", windows)
        random = Random(steps)
        with job.world(2, random) as world:
            world.step(steps)
            world.take()
        with job.world(workers, random) as world:
            world.finish()
        assert job.rows("windows") == expected_windows(2)


def test_what_has_appeared_is_of_windows_that_end_by_the_time_of_the_snapshot(tmp_path: Path) -> None:
    job = Job(tmp_path, windows)
    with job.world(2, Random(1)) as world:
        world.step(12)
        world.take()
    snapshot = job.folder.newest()
    assert snapshot is not None
    time = snapshot.manifest["time"]
    assert 0 < time < 22
    assert job.rows("windows") == Counter({row: 1 for row in expected_windows(2) if row[1] <= time})


def test_a_run_may_be_cut_before_the_first_row_and_after_the_last(tmp_path: Path) -> None:
    job = Job(tmp_path, windows)
    random = Random(1)
    with job.world(2, random) as world:
        world.take()
    assert job.rows("windows") == Counter()
    with job.world(3, random) as world:
        at_rest(world)
        world.take()
    assert job.rows("windows") == expected_windows(2)
    with job.world(1, random) as world:
        world.finish()
    assert job.is_finished
    assert job.rows("windows") == expected_windows(2)


def test_copies_are_taken_while_workers_go_on(tmp_path: Path) -> None:
    """Several at one place, too: the next is asked for before sources have been run again."""
    for seed in range(2):
        job = Job(tmp_path / f"{seed}", windows)
        random = Random(seed)
        with job.world(2, random) as world:
            for _ in range(3):
                world.step(random.choice([0, 5, 20]))
                world.take(copied=True)
                world.take(copied=True)
            world.step(30)
        with job.world(3, random) as world:
            world.take(copied=True)
            world.finish()
        assert job.rows("windows") == expected_windows(2)


@pytest.mark.parametrize("until", ["rest", "manifest", "results"])
def test_workers_may_die_while_a_snapshot_is_taken(tmp_path: Path, until: str) -> None:
    job = Job(tmp_path, windows)
    random = Random(2)
    for steps in (20, 25):
        with job.world(2, random) as world:
            world.step(steps)
            world.take(copied=True)
            had = job.rows("windows")
            world.step(10)
            world.take(until=until)
            assert job.rows("windows") == had
    with job.world(1, random) as world:
        world.finish()
    assert job.rows("windows") == expected_windows(2)


def test_a_group_that_dies_before_its_first_snapshot_begins_anew(tmp_path: Path) -> None:
    job = Job(tmp_path, windows)
    random = Random(3)
    for steps in (5, 30, 80):
        with job.world(2, random) as world:
            world.step(steps)
        assert job.rows("windows") == Counter()
    with job.world(2, random) as world:
        world.finish()
    assert job.rows("windows") == expected_windows(2)


def test_what_a_program_has_sent_is_taken_before_a_snapshot(tmp_path: Path) -> None:
    """What it has published too, and a compiled operator is to take next: no row is left in a queue."""
    handles = []

    class ByHand(Job):
        def _build(self, group: Any) -> Callable[[Worker], None]:
            def program(worker: Any) -> None:
                worker.save("nothing", lambda: None)
                with group.building(worker), worker.dataflow("job") as scope:
                    handle, rows = scope.new_input(Schema("k"), "by hand")
                    to_arrow_files(aggregate(rows, "k", n=Count(), emit="final"), self.results / "rows")
                handles.append(handle)

            return program

    for seed in range(10):
        job = ByHand(tmp_path / f"{seed}", lambda scope, results: None)
        with job.world(1, Random(seed)) as world:
            world.step(5)
            handles[-1].send({"k": [seed]})
            handles[-1].advance_to(1)
            world.take(checked=True)
        with job.world(1, Random(seed)) as world:
            handles[-1].close()
            world.finish()
        assert job.rows("rows") == Counter([(seed, 1)])


def test_a_source_may_have_one_time_for_all_its_rows(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        def function(share: int, shares: int) -> Iterator[dict[str, list[Any]]]:
            for at, k, v in rows_of(share):
                yield {"at": [at], "k": [k], "v": [v]}

        rows = from_generator(scope, ROW, function)
        to_arrow_files(aggregate(rows, "k", n=Count(), total=Sum("v"), emit="final"), results / "rows")

    counts = Counter(k for share in range(2) for _, k, _ in rows_of(share))
    totals = Counter({k: sum(v for s in range(2) for _, one, v in rows_of(s) if one == k) for k in KEYS})
    for seed in range(4):
        job = Job(tmp_path / f"{seed}", declare)
        random = Random(seed)
        for workers in (2, 3, 1):
            with job.world(workers, random) as world:
                world.step(random.randrange(15))
                world.take()
        with job.world(2, random) as world:
            world.finish()
        assert job.rows("rows") == Counter((k, counts[k], totals[k]) for k in KEYS)


def test_what_is_kept_of_all_rows_is_that_of_one_worker(tmp_path: Path) -> None:
    """Every worker says that it has the one key there is, and one alone has something of it."""

    def declare(scope: Any, results: Path) -> None:
        to_arrow_files(aggregate(source(scope), "", n=Count(), total=Sum("v")), results / "totals")

    values = [v for share in range(2) for _, _, v in rows_of(share)]
    for seed in range(4):
        job = Job(tmp_path / f"{seed}", declare)
        with job.world(2, Random(seed)) as world:
            world.step(8 + 2 * seed)
            world.take()
        with job.world(3, Random(seed)) as world:
            world.finish()
        assert max(job.rows("totals")) == (len(values), sum(values))


def test_what_is_pending_is_sent_where_no_row_comes_any_more(tmp_path: Path) -> None:
    """By the right to its time, which the state that was put in brings along."""
    keys = [key_for(worker, 2) for worker in range(2)]

    def function(share: int, shares: int) -> Iterator[dict[str, list[int]]]:
        yield {"at": [1, 1], "key": keys}
        yield from ({"at": [at], "key": keys[:1]} for at in range(2, 9))

    def declare(scope: Any, results: Path) -> None:
        rows = from_generator(scope, Schema("at key"), function, time="at", name="rows")
        found = aggregate(rows, "key", window=Tumbling("at", 20), n=Count())
        to_arrow_files(select(found, "key", "n"), results / "windows")

    job = Job(tmp_path, declare)
    with job.world(1, Random(1)) as world:
        world.step(4)
        world.take()
    assert job.rows("windows") == Counter()
    with job.world(2, Random(1)) as world:
        world.finish()
    assert job.rows("windows") == Counter([(keys[0], 8), (keys[1], 1)])


def test_the_best_of_all_rows_are_kept(tmp_path: Path) -> None:
    """In order of descending times, so that those that were best before are lost if the state is."""

    def declare(scope: Any, results: Path) -> None:
        rows = with_columns(source(scope), w=1_000 - col("v"))
        best = top(rows, "", order="w", k=5, ties="at", emit="final", rank=None)
        to_arrow_files(select(best, "at", "v"), results / "best")

    rows = [(at, v) for share in range(2) for at, _, v in rows_of(share)]
    for steps in (10, 20, 30):
        job = Job(tmp_path / f"{steps}", declare)
        with job.world(2, Random(steps)) as world:
            world.step(steps)
            world.take(copied=True)
        with job.world(3, Random(steps)) as world:
            world.finish()
        assert job.rows("best") == Counter(sorted(rows, key=lambda row: row[1])[:5])


def test_a_join_whose_inputs_have_ended_is_saved_beside_what_goes_on(tmp_path: Path) -> None:
    """Its rows were dropped at once, the keys being left as they were: their chains led out of the memory for them."""

    def declare(scope: Any, results: Path) -> None:
        rows = source(scope, until=9)
        some = select(filter(rows, col("k").is_not_null()), at=col("at"), k=col("k"), v=col("v"))
        window = Tumbling("at", 4)
        other = select(some, r=col("v"), rk=col("k"), rat=col("at"))
        found = join(some, other, on={"k": "rk"}, window=window, right_time="rat", columns=["v", "r"])
        to_arrow_files(select(found, "v", "r", "window_end"), results / "pairs")
        to_arrow_files(source(scope, "more", at_once=1, until=60), results / "more")

    rows = [row for share in range(2) for row in rows_of(share, 9) if row[1] is not None]
    pairs = Counter(
        [(v, r, at // 4 * 4 + 4) for at, k, v in rows for rat, rk, r in rows if k == rk and at // 4 == rat // 4]
    )
    has_ended = 0
    for steps in (0, 20, 35, 50, 70):
        job = Job(tmp_path / f"{steps}", declare)
        with job.world(2, Random(steps)) as world:
            world.step(steps)
            world.take(copied=True)
            has_ended += job.rows("pairs") == pairs and not world.is_over
        with job.world(1, Random(steps)) as world:
            world.finish()
        assert job.rows("pairs") == pairs
        assert job.rows("more") == Counter([row for share in range(2) for row in rows_of(share, 60)])
    assert has_ended


def test_rows_that_an_operator_fails_at_come_once(tmp_path: Path) -> None:
    def declare(scope: Any, results: Path) -> None:
        made, failed = map_batches(source(scope), ROW, _but_fives, on_error="stream")
        to_arrow_files(made, results / "made")
        to_arrow_files(select(failed, "at", "v"), results / "failed")

    rows = [row for share in range(2) for row in rows_of(share)]
    for steps in (0, 15, 40, 70):
        job = Job(tmp_path / f"{steps}", declare)
        with job.world(2, Random(steps)) as world:
            world.step(steps)
            world.take()
        with job.world(3, Random(steps)) as world:
            world.finish()
        assert job.rows("made") == Counter([row for row in rows if row[0] % 5])
        assert job.rows("failed") == Counter([(at, v) for at, _, v in rows if at % 5 == 0])


def _but_fives(batch: Any) -> dict[str, Any]:
    if (batch["at"] % 5 == 0).any():
        raise ValueError("a five")
    return {name: batch[name] for name in ROW.names}


def test_rows_of_times_to_come_that_cannot_be_saved_are_told_of(tmp_path: Path) -> None:
    """And are not lost: no snapshot is made of them."""

    def keeping(context: Any, token: Token) -> Callable[..., None]:
        token.drop()
        kept: list[Any] = []

        def logic(rows: Any, output: Any) -> None:
            kept.extend((reference.retain(), batch.copy()) for reference, batch in rows)

        return logic

    def declare(scope: Any, results: Path) -> None:
        rows = source(scope)
        builder = rows.operator("mine")
        builder.input(rows)
        state_moves(builder)
        made = builder.output(ROW)
        builder.build(keeping)
        to_arrow_files(made, results / "found")

    job = Job(tmp_path, declare)
    with job.world(1, Random(1)) as world:
        world.step(6)
        with raises(UsageError, "mine", "keeps what it cannot save"):
            world.take(checked=True)
    assert job.folder.newest() is None


def test_a_hold_is_no_state(tmp_path: Path) -> None:
    job = Job(tmp_path, windows)
    with job.world(1, Random(1)) as world:
        (worker,) = world.group.workers
        with worker.inspection.hold(("aggregate", "input", 0), 9):
            world.step(60)
            world.take(checked=True)
    with job.world(1, Random(1)) as world:
        world.finish()
    assert job.rows("windows") == expected_windows(1)


def test_a_generator_that_says_where_it_is_goes_on_from_there(tmp_path: Path) -> None:
    """And reads nothing twice but what came after the snapshot."""
    asked: list[tuple[int, Any]] = []

    def declare(scope: Any, results: Path) -> None:
        def function(share: int, shares: int, position: Any) -> Iterator[tuple[dict[str, list[Any]], Any]]:
            asked.append((share, position))
            for at, k, v in rows_of(share)[0 if position is None else position["next"] :]:
                yield {"at": [at], "k": [k], "v": [v]}, {"next": at + 1}

        to_arrow_files(from_generator(scope, ROW, function, time="at", positions=True), results / "rows")

    expected = Counter([row for share in range(2) for row in rows_of(share)])
    job, random = Job(tmp_path, declare), Random(1)
    for workers in (2, 1):
        with job.world(workers, random) as world:
            world.step(9)
            world.take()
    with job.world(3, random) as world:
        world.finish()
    assert job.rows("rows") == expected
    assert asked[:2] == [(0, None), (1, None)]
    assert all(position is not None and position["next"] > 0 for _, position in asked[2:])
