"""Sources of partitions: times that each keeps by itself, idle ones, and whose each is. Against plain Python."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers import build, simulated
from tests.errors import raises
from tests.operators.recovery.test_instants import ROW
from tests.operators.recovery.test_programs import cut, go_on, windowed, windows_of
from tests.operators.sources.helpers import run
from tokenring.engine import OperatorError, RecoveryError, Schema, SchemaError, UsageError
from tokenring.operators import Throttle, from_generator
from tokenring.operators.mechanisms import use

SCHEMA = Schema("at value")
STARTS = {"late": 900, "early": 0, "middle": 300}


def log(partition: str) -> Iterator[dict[str, Any]]:
    """Rows in order in each partition, which are far apart; one of them is up to 3 early."""
    for at in range(STARTS[partition], STARTS[partition] + 20):
        yield {"at": [at - 3 * (partition == "middle" and at % 4 == 3)], "value": [STARTS[partition]]}


def rows_of(partition: str) -> list[tuple[int, int]]:
    return [(batch["at"][0], batch["value"][0]) for batch in log(partition)]


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_each_partition_is_in_order_by_itself(workers: int) -> None:
    asked: list[str] = []

    def read(partition: str) -> Iterator[dict[str, Any]]:
        asked.append(partition)
        return log(partition)

    sent = run(lambda scope: from_generator(scope, SCHEMA, read, time="at", disorder=3, partitions=[*STARTS]), workers)
    assert sorted(asked) == sorted(STARTS)
    assert Counter(sent.values) == Counter(row for partition in STARTS for row in rows_of(partition))
    for partition, start in STARTS.items():
        whose = {worker for worker, _, (_, value) in sent.rows if value == start}
        assert whose == {[*STARTS].index(partition) % workers}
        assert [row for _, _, row in sent.rows if row[1] == start] == rows_of(partition)
    if workers == 1:  # once each has said where it is, the one that is furthest behind is read next
        later = [value for _, value in sent.values][1 + 5 + 5 :]
        assert later == sorted(later)


def test_a_row_that_is_late_in_its_partition_is_named() -> None:
    with raises(OperatorError, "item 3 of partition 'middle', row 0", "time is 300", "before 301", "disorder=2"):
        # 302 was before it, and 1 may be early
        run(lambda scope: from_generator(scope, SCHEMA, log, time="at", disorder=1, partitions=["middle"]))


def test_a_function_may_say_that_nothing_has_come() -> None:
    def read(partition: str, position: Any = None) -> Iterator[Any]:
        first = 0 if position is None else position
        for at in range(first, 5):
            yield None
            yield {"at": [at], "value": [len(partition)]}, at + 1
            yield None

    def options(scope: Any, **more: Any) -> Any:
        return from_generator(scope, SCHEMA, read, time="at", positions=True, **more)

    sent = run(lambda scope: options(scope, partitions=["a", "bb"]), 1)
    assert Counter(sent.values) == Counter((at, value) for at in range(5) for value in (1, 2))

    def alone() -> Iterator[Any]:
        yield from (None, {"at": [1], "value": [2]}, None)

    assert run(lambda scope: from_generator(scope, SCHEMA, alone, time="at")).values == [(1, 2)]


class Fed:
    """Partitions that a test fills."""

    def __init__(self, *names: str) -> None:
        self.rows: dict[str, list[Any]] = {name: [] for name in names}
        self.open = {*names}
        self.goes_on: dict[str, Any] = {}
        """What one has as often as it is asked."""
        self.asked: Counter[str] = Counter()

    def read(self, partition: str) -> Iterator[Any]:
        while partition in self.open or self.rows[partition]:
            self.asked[partition] += 1
            yield self.rows[partition].pop(0) if self.rows[partition] else self.goes_on.get(partition)

    def put(self, partition: str, *times: int) -> None:
        self.rows[partition] += [{"at": [at], "value": [0]} for at in times]


class World:
    """Workers that read partitions; what has come, and what is promised."""

    def __init__(self, group: Any, fed: Fed, way: str = "tokens", **options: Any) -> None:
        self.group, self.rows, self.missed = group, list[int](), list[int]()
        self.probes: list[Any] = []

        def on_worker(worker: Any, scope: Any) -> None:
            mechanism = use(scope, way)
            found = from_generator(scope, SCHEMA, fed.read, time="at", partitions=[*fed.rows], **options)
            rows, late = found if options.get("late") else (found, None)
            self.probes.append(mechanism.probe(rows))
            for stream, seen in ((rows, self.rows), (late, self.missed)):
                if stream is not None:
                    stream.sink("recorder", self._recorder(seen))

        build(group, on_worker)

    @staticmethod
    def _recorder(seen: list[int]) -> Callable[..., Any]:
        def construct(context: Any) -> Callable[..., None]:
            def logic(rows: Any) -> None:
                for _, batch in rows:
                    seen.extend(batch["at"].tolist())

            return logic

        return construct

    def until(self, is_so: Callable[[], bool], workers: Any = None) -> None:
        """Step until it is so. A watchdog is against hangs alone."""
        is_long = threading.Event()
        watchdog = threading.Timer(60, is_long.set)
        watchdog.start()
        while not is_so():
            assert not is_long.is_set(), [probe.frontier for probe in self.probes]
            for worker in self.group.workers if workers is None else workers:
                worker.step()
        watchdog.cancel()

    def frontiers(self) -> set[int]:
        return {probe.frontier for probe in self.probes}


WAYS = ["tokens", "notifications", "watermarks-X"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_idle_partition_holds_nobody(workers: int, way: str) -> None:
    fed = Fed("a", "b", "c", "d")
    with simulated(workers) as group:
        world = World(group, fed, way, idle="10ms")
        for name in fed.rows:
            fed.put(name, 10)
        world.until(lambda: world.frontiers() == {10})
        fed.put("b", 20)
        fed.put("c", 30)
        world.until(lambda: world.frontiers() == {30})  # all are idle by and by, and promise what the last one did
        fed.put("a", 40)
        fed.put("d", 30, 35)
        world.until(lambda: {40, 35} <= {*world.rows})
        fed.open -= {"a", "b", "d"}
        fed.put("c", 50)
        world.until(lambda: world.frontiers() == {50})
        fed.open.clear()
        world.until(lambda: all(worker.complete for worker in group.workers))
    assert sorted(world.rows) == [10, 10, 10, 10, 20, 30, 30, 35, 40, 50]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_is_not_idle_for_long_holds_all(workers: int, way: str) -> None:
    for idle in (None, "1h"):
        fed = Fed("a", "b")
        with simulated(workers) as group:
            world = World(group, fed, way, idle=idle)
            fed.put("a", 10)
            fed.put("b", *range(1_000))
            world.until(lambda: 999 in world.rows)  # noqa: B023
            assert world.frontiers() == {10}
            fed.put("a", 11, 500)
            world.until(lambda: world.frontiers() == {500})  # noqa: B023
            fed.open.clear()
            world.until(lambda: all(worker.complete for worker in group.workers))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_idle_one_promises_no_more_than_the_least_of_the_others(workers: int) -> None:
    fed = Fed("a", "b", "c")
    with simulated(workers) as group:
        world = World(group, fed, idle="10ms")
        fed.put("a", 10)
        fed.goes_on = {"b": {"at": [20], "value": [0]}, "c": {"at": [90], "value": [0]}}
        world.until(lambda: world.frontiers() == {20})
        fed.put("a", 25)
        world.until(lambda: 25 in world.rows)
        fed.goes_on.clear()
        fed.open.clear()
        world.until(lambda: all(worker.complete for worker in group.workers))


def test_nothing_is_known_of_a_worker_that_has_said_nothing() -> None:
    fed = Fed("a", "b", "c")
    with simulated(2) as group:
        world = World(group, fed, idle="1ms")
        fed.put("a", 10)
        fed.put("c", 30)
        world.until(lambda: fed.asked["a"] > 20, group.workers[:1])
        fed.put("a", 20)
        fed.put("b", 5)
        world.until(lambda: {5, 20} <= {*world.rows})
        fed.open.clear()
        world.until(lambda: all(worker.complete for worker in group.workers))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers", [1, 2])
def test_what_comes_of_an_idle_one_after_all_is_late(workers: int, way: str) -> None:
    fed = Fed("a", "b")
    with simulated(workers) as group:
        world = World(group, fed, way, idle="10ms", late=True)
        fed.put("a", 10)
        fed.put("b", 90)
        world.until(lambda: world.frontiers() == {90})
        fed.put("a", 50, 95, 60)
        world.until(lambda: {*world.missed} == {50, 60})
        fed.open.clear()
        world.until(lambda: all(worker.complete for worker in group.workers))
    assert sorted(world.rows) == [10, 90, 95]


def test_a_source_that_may_not_send_is_not_idle() -> None:
    """Rows wait in its partition while an operator has enough of them."""
    fed = Fed("a", "b")
    with simulated(1) as group:
        world = World(group, fed, idle="1ms", throttle=Throttle(batches=1))
        fed.put("a", *range(0, 200, 2))
        fed.put("b", *range(1, 200, 2))
        fed.open.clear()
        world.until(lambda: all(worker.complete for worker in group.workers))
    assert sorted(world.rows) == [*range(200)]


def test_what_cannot_be_is_refused() -> None:
    def source(function: Any = log, **options: Any) -> Callable[[Any], Any]:
        return lambda scope: from_generator(scope, SCHEMA, function, **{"time": "at", **options})

    who = "source 'from_generator'"
    for error, facts, declare in (
        (UsageError, ("list of at least one name", "not 'early'"), source(partitions="early")),
        (UsageError, ("list of at least one name", "not []"), source(partitions=[])),
        (UsageError, ("list of at least one name", "not [1]"), source(partitions=[1])),
        (UsageError, ("list of at least one name", "a text each", "not [1, 1, 2]"), source(partitions=[1, 1, 2])),
        (UsageError, ("list of at least one name", "a text each", "not 5"), source(partitions=5)),
        (UsageError, ("a text each", "not [0, 1, 2, 3, 4, 5, ...]"), source(partitions=list(range(600)))),
        (UsageError, ("'late' is named twice",), source(partitions=["late", "early", "late"])),
        (UsageError, ("one worker", "per_worker="), source(partitions=["late"], per_worker=True)),
        (UsageError, ("function(partition)", "takes ()"), source(lambda: iter(()), partitions=["late"])),
        (UsageError, ("function(partition, position=)", "takes (partition"), source(partitions=["a"], positions=True)),
        (UsageError, ("function(partition)", "is int"), source(7, partitions=["late"])),
        (UsageError, ("idle=", "partitions=, the names"), source(lambda: iter(()), idle="1s")),
        (UsageError, ("idle=", "above 0"), source(partitions=["late"], idle="0s")),
        (UsageError, ("idle=", "time=column"), source(partitions=["late"], idle="1s", time=7)),
        (SchemaError, ("idle", "10 what?"), source(partitions=["late"], idle=10)),
    ):
        with raises(error, who, *facts):
            run(declare)


def test_workers_are_to_name_the_same_in_one_order() -> None:
    """Each would read what no other does, or what another reads as well."""

    def graph(*partitions: str) -> Any:
        with simulated(1) as group:
            (scope,) = build(
                group, lambda worker, scope: from_generator(scope, SCHEMA, log, partitions=partitions) and scope
            )
        return scope.graph

    one, other = graph("early", "late"), graph("late", "early")
    assert one.digest() == graph("early", "late").digest() != other.digest()
    assert "partitions late, early" in other.declared()[0]


# Under recovery

FIRST, MORE = ("a", "b", "c"), ("a", "new", "b", "c")


def read_from(partition: str, position: Any) -> Iterator[Any]:
    """Rows from a place on, and now and then nothing."""
    first = 0 if position is None else position
    for place, (at, k, v) in [*enumerate(rows_in(partition))][first:]:
        if place % 3 == 0:
            yield None
        yield {"at": [at], "k": [k], "v": [v]}, place + 1


def rows_in(partition: str) -> list[tuple[int, str, int]]:
    """Each partition has its own pace."""
    pace = 1 + len(partition) % 3
    return [(at * pace, "abc"[at % 3], 100 * ord(partition[0]) + at) for at in range(12)]


def flow(partitions: tuple[str, ...], positions: bool) -> Callable[[Any, Path], None]:
    def log(partition: str, position: Any = None) -> Iterator[Any]:
        for rows in read_from(partition, position):
            yield rows if positions or rows is None else rows[0]

    def declare(scope: Any, results: Path) -> None:
        options = {"positions": positions, "partitions": partitions, "time": "at", "name": "log"}
        windowed(from_generator(scope, ROW, log, **options), results, "windows")

    return declare


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_partitions_go_on_where_they_were_on_any_workers(tmp_path: Path, workers: int, positions: bool) -> None:
    for steps in (4, 9, 14):
        job = cut(tmp_path / f"{steps}", flow(FIRST, positions), steps)
        go_on(job, job.declare, workers=workers)
        assert job.rows("windows") == windows_of([row for one in FIRST for row in rows_in(one)])


def test_a_new_partition_begins_and_one_that_is_gone_is_refused(tmp_path: Path) -> None:
    job = cut(tmp_path, flow(FIRST, True), 5)
    snapshot = job.folder.newest()
    assert snapshot is not None
    with raises(RecoveryError, "partition 'b' of source 'log'", "--drop log/b"):
        go_on(job, flow(("a", "c"), True))
    read = {
        told["state"]["share"]: told["state"]["position"] or 0
        for worker in snapshot.manifest["workers"]
        for told in worker["shares"]
    }
    assert {*read} == {*FIRST}
    go_on(job, flow(("a", "c"), True), "log/b")
    rows = [*rows_in("a"), *rows_in("b")[: read["b"]], *rows_in("c")]
    assert job.rows("windows") == windows_of(rows)


def test_rows_of_a_new_partition_count_from_what_is_finished_on(tmp_path: Path) -> None:
    job = cut(tmp_path, flow(FIRST, True), 0)
    go_on(job, flow(MORE, True))
    assert job.rows("windows") == windows_of([row for one in MORE for row in rows_in(one)])
