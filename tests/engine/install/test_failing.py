"""An installed dataflow of which an operator raises ends alone: all others go on, and nothing is left of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import raises
from tests.long_form import LONG, examples
from tests.operators.collections.harness import UPDATE
from tokenring.engine.ask import ask
from tokenring.engine.install import Installed
from tokenring.engine.running import Phase

WATCHDOG_S = 60
VALUE = tr.Schema("value")
A_TIME = 10  # rows
WRITTEN = "TOKENRING_TEST_WRITTEN"
END = "TOKENRING_TEST_END"


def serve(worker: tr.Worker) -> int:
    """Rows 0, 1, ... as keys, ten at each time, until it is to stop; at the end, nothing is left of anything else."""
    with worker.dataflow("base") as scope:
        rows, stream = scope.new_input(UPDATE)
        stream.collection("time", "times").arrange("k").export("rows")
    at = 0
    while not worker.stopping:
        if worker.index == 0:
            keys = np.arange(A_TIME * at, A_TIME * (at + 1))
            rows.send({"k": keys, "v": keys % 7, "time": np.full(A_TIME, at), "times": np.ones(A_TIME, np.int64)})
        at += 1
        rows.advance_to(at)
        for _ in range(8):  # each worker's time wakes the others: of every turn, there would be no rest
            worker.step_or_park(0.004)
    return len(worker.dataflows.running)


def by_value(scope: tr.Scope) -> Any:
    return scope.import_arrangement("rows").collection().aggregate("v", n=tr.Count())


def expected_by_value(at: int) -> dict[int, int]:
    return {value: len(range(value, A_TIME * (at + 1), 7)) for value in range(7)}


# What fails: each raises on its last worker only, if nothing else is said


def is_last(context: Any) -> bool:
    return bool(context.worker_index == context.peers - 1)


def a_source(scope: tr.Scope) -> Any:
    def three() -> Iterator[dict[str, Any]]:
        for value in range(3):
            yield {"k": [value], "time": [value], "times": [1]}
        raise ValueError("there is no fourth")

    return scope.from_generator(tr.Schema("k time times"), three).collection("time", "times").arrange("k")


def half_way(context: Any, token: tr.Token) -> Callable[..., None]:
    """Sends half of what came at time 3, and has a token in its own hands when it raises."""
    token.drop()

    def logic(rows: tr.InputPort, output: tr.OutputPort) -> None:
        for reference, batch in rows:
            held = reference.retain()
            if is_last(context) and reference.time >= 3:
                output.give(reference, batch.slice(0, batch.rows // 2))
                raise ValueError("no further")
            output.give(held, batch)
            held.drop()

    return logic


def an_operator(scope: tr.Scope) -> None:
    ticks(scope).unary("half way", VALUE, half_way, tr.Exchange("value")).sink("taking", taking, tr.Exchange("value"))


def ticking(context: Any, token: tr.Token) -> Callable[..., None]:
    """A row for each worker at each time, now and then."""

    def logic(output: tr.OutputPort) -> None:
        if not token.live:
            return
        if context.stopping:
            token.drop()
            return
        output.give(token, {"value": np.arange(4 * context.peers) + token.time})
        token.downgrade(token.time + 1)
        context.activate_after(4_000_000)

    return logic


def ticks(scope: tr.Scope) -> Any:
    (stream,) = scope.source("ticking", (VALUE,), ticking)
    return stream


def taking(context: Any) -> Callable[..., None]:
    """A sink that wants nothing."""
    return lambda rows: list(rows) and None


def a_stage(scope: tr.Scope) -> None:
    def function(batch: tr.Batch) -> dict[str, Any]:
        if batch["value"].max() > 15:
            raise ValueError("too much")
        return {"value": batch["value"]}

    ticks(scope).map_batches(VALUE, function).sink("taking", taking, tr.Exchange("value"))


def behind_a_compiled_one(scope: tr.Scope) -> None:
    def function(batch: tr.Batch) -> dict[str, Any]:
        if batch["n"].max() > 3:
            raise ValueError("too often")
        return {"value": batch["value"]}

    counted = ticks(scope).aggregate("value", n=tr.Count())
    counted.map_batches(VALUE, function).sink("taking", taking, tr.Exchange("value"))


def a_compiled_stage(scope: tr.Scope) -> None:
    counted = ticks(scope).aggregate("value", n=tr.Count())
    counted.with_columns(left=100 // (4 - tr.col("n"))).sink("taking", taking, tr.Exchange("value"))


def a_compiled_one(scope: tr.Scope) -> None:
    large = ticks(scope).with_columns(large=tr.col("value") * 0 + 2**62)
    large.aggregate("value", sum=tr.Sum("large")).sink("taking", taking)


def a_sink(scope: tr.Scope) -> Any:
    def construct(context: Any) -> Callable[..., None]:
        taken = 0

        def logic(rows: tr.InputPort) -> None:
            nonlocal taken
            for _ in rows:
                taken += 1
                if taken > 3 and is_last(context):
                    raise OSError("the disk is full")

        return logic

    made = by_value(scope)
    made.changes().sink("to somewhere", construct)
    return made


def in_a_loop(scope: tr.Scope) -> None:
    def function(batch: tr.Batch) -> dict[str, Any]:
        if batch["value"].max() > 15:
            raise ValueError("too far")
        return {"value": batch["value"] + 1}

    with scope.loop("on") as loop:
        back = loop.feedback(VALUE)
        both = loop.enter(ticks(scope)).union(back.stream)
        back.connect(both.exchange("value").filter(tr.col("value") < 20).map_batches(VALUE, function))
        loop.leave(both).sink("taking", taking)


def a_writer(scope: tr.Scope) -> None:
    made = ticks(scope).unary("half way", VALUE, half_way, tr.Exchange("value"))
    made.to_parquet(Path(os.environ[WRITTEN]) / "written")


def on_all_workers(scope: tr.Scope) -> None:
    def construct(context: Any) -> Callable[..., None]:
        def logic(rows: tr.InputPort) -> None:
            for _ in rows:
                raise ValueError("nobody wants it")

        return logic

    ticks(scope).sink("refusing", construct)


FAILING = {
    a_source: ("from_generator", "ValueError: there is no fourth"),
    an_operator: ("half way", "ValueError: no further"),
    a_stage: ("map_batches", "ValueError: too much"),
    behind_a_compiled_one: ("map_batches", "ValueError: too often"),
    a_compiled_stage: ("with_columns", "division by zero|divided by zero"),
    a_compiled_one: ("aggregate", "64 bits|overflow"),
    a_sink: ("to somewhere", "OSError: the disk is full"),
    in_a_loop: ("map_batches", "ValueError: too far"),
    on_all_workers: ("refusing", "ValueError: nobody wants it"),
}


@contextmanager
def running(workers: int) -> Iterator[tr.RunningGroup]:
    """A group in which another dataflow is installed; it ends well, and has nothing left."""
    config = tr.Config(workers=workers, checks="exhaustive" if workers == 2 else "normal")
    with tr.start(serve, config=config) as group:
        group.install(by_value, timeout_s=WATCHDOG_S)
        yield group
        check_others(group)
        group.remove("by_value", WATCHDOG_S)
        assert group.failed(WATCHDOG_S) == {}
        until(lambda: not folders())
        group.stop()
        assert group.wait() == [1] * workers  # the program's own dataflow


def folders() -> list[str]:
    """Those of requests to groups of this process."""
    with suppress(FileNotFoundError):
        return [name for name in os.listdir(f"/tmp/tokenring-{os.geteuid()}") if f"-{os.getpid()}-" in name]
    return []


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WATCHDOG_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def check_others(group: tr.RunningGroup) -> None:
    """The other dataflow goes on, and is right."""
    before = group.query("by_value", timeout_s=WATCHDOG_S).time
    until(lambda: group.query("by_value", timeout_s=WATCHDOG_S).time > before + 2)
    at, rows = group.query("by_value", timeout_s=WATCHDOG_S)
    assert {row["v"]: row["n"] for row in rows.to_pylist()} == expected_by_value(at)


def failure_of(group: tr.RunningGroup, name: str) -> str:
    """Why it has failed, once it has, and has gone by itself."""
    until(lambda: name in group.failed(WATCHDOG_S))
    until(lambda: name not in group.views(WATCHDOG_S).installed)
    return group.failed(WATCHDOG_S)[name]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_ends_alone_and_can_be_removed_and_mended(workers: int) -> None:
    with running(workers) as group:
        for fails, (operator, reason) in FAILING.items():
            group.install(fails, "it", WATCHDOG_S)
            said = failure_of(group, "it")
            assert said.startswith(f"dataflow 'it' has failed, and others go on: operator '{operator}")
            assert any([f"on worker {worker}" in said for worker in range(workers)])
            assert re.search(reason, said) and said.endswith("; remove it, and install a mended one")
            for asks in (group.query, lambda view, **more: next(group.subscribe(view, **more))):
                with raises(tr.DataflowFailedError, said):
                    asks("it", timeout_s=WATCHDOG_S)
            with raises(tr.DataflowFailedError, said):
                group.install(by_value, "it", WATCHDOG_S)
            until(lambda: not folders())
            group.remove("it", WATCHDOG_S)
            group.install(by_value, "it", WATCHDOG_S)
            at, rows = group.query("it", timeout_s=WATCHDOG_S)
            assert {row["v"]: row["n"] for row in rows.to_pylist()} == expected_by_value(at)
            group.remove("it", WATCHDOG_S)


def test_a_stage_that_raises_again_when_all_have_stopped_holds_nothing_up() -> None:
    with running(2) as group:
        for _ in range(examples(30)):  # of two, one shows what is wrong
            group.install(behind_a_compiled_one, "it", WATCHDOG_S)
            failure_of(group, "it")
            group.remove("it", WATCHDOG_S)


def test_all_fail_at_once_while_others_come_and_go() -> None:
    with running(3) as group:
        for fails in FAILING:
            group.install(fails, timeout_s=WATCHDOG_S)
            group.install(by_value, "coming and going", WATCHDOG_S)
            group.remove("coming and going", WATCHDOG_S)
        for fails in [*FAILING][::2]:  # some of them before they have failed
            group.remove(fails.__name__, WATCHDOG_S)
        for fails in [*FAILING][1::2]:
            failure_of(group, fails.__name__)
            group.remove(fails.__name__, WATCHDOG_S)


# What is not there from the beginning


def a_constructor(scope: tr.Scope) -> Any:
    made = scope.import_arrangement("rows").collection().aggregate("v", n=tr.Count()).arrange("v")

    def construct(context: Any, token: tr.Token) -> Callable[..., None]:
        if is_last(context):
            raise ValueError("too late")
        token.drop()
        return lambda output: None

    scope.source("never", (VALUE,), construct)
    scope.source("ticking", (VALUE,), ticking)
    return made


@pytest.mark.parametrize("workers", [1, 2])
def test_a_constructor_that_raises_is_an_error_of_who_installs(workers: int) -> None:
    with running(workers) as group:
        for _ in range(3):
            with pytest.raises(tr.UsageError) as raised:
                group.install(a_constructor, "it", WATCHDOG_S)
            assert str(raised.value).startswith(
                f"'it' is not installed: the constructor of operator 'never' on worker {workers - 1} raised "
                f"ValueError: too late"
            )
            assert group.failed(WATCHDOG_S) == {}
            with raises(tr.UsageError, "arrangement", "'it'"):
                group.query("it", timeout_s=WATCHDOG_S)
            views, installed = group.views(WATCHDOG_S)
            assert installed == ["by_value"] and {view["name"] for view in views} == {"by_value", "rows"}
            group.install(by_value, "it", WATCHDOG_S)
            check_others(group)
            group.remove("it", WATCHDOG_S)


# Those that read it


def later(scope: tr.Scope) -> Any:
    """Is read for a while, and fails when the test says so."""

    def function(batch: tr.Batch) -> dict[str, Any]:
        if os.path.exists(os.environ[END]):
            raise ValueError("not so many")
        return {"k": batch["k"]}

    made = scope.import_arrangement("rows").collection().map_batches(tr.Schema("k"), function)
    made.changes().sink("taking", lambda context: lambda rows: list(rows))  # else it is an error of the view
    return made


def reading(scope: tr.Scope) -> Any:
    return scope.import_arrangement("it").collection().with_columns(more=tr.lit(1))


def reading_that(scope: tr.Scope) -> Any:
    return scope.import_arrangement("reading").collection().with_columns(more=tr.lit(2))


@pytest.fixture
def end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Once this file is there, what is to fail later does."""
    monkeypatch.setenv(END, str(tmp_path / "end"))
    return tmp_path / "end"


@pytest.mark.parametrize("workers", [1, 2])
def test_what_imports_from_it_fails_likewise_and_subscriptions_say_so(workers: int, end: Path) -> None:
    with running(workers) as group:
        group.install(later, "it", WATCHDOG_S)
        group.install(reading, timeout_s=WATCHDOG_S)
        group.install(reading_that, timeout_s=WATCHDOG_S)
        told, seen = group.subscribe("it", timeout_s=WATCHDOG_S), 0
        with raises(tr.DataflowFailedError, "operator 'map_batches'", "not so many"):
            for at, rows in told:
                seen += sum(rows["times"].to_pylist())
                assert seen == A_TIME * (at + 1)
                end.touch()
        assert seen > 0
        failed = {name: failure_of(group, name) for name in ("it", "reading", "reading_that")}
        assert "'reading' has failed, and others go on: it imports from dataflow 'it': operator" in failed["reading"]
        assert "it imports from dataflow 'reading': it imports from dataflow 'it': operator" in failed["reading_that"]
        for name in failed:
            with raises(tr.DataflowFailedError, "not so many"):
                group.query(name, timeout_s=WATCHDOG_S)
        with raises(tr.DataflowFailedError, "not so many"):
            group.install(reading, "another", WATCHDOG_S)
        for name in failed:
            group.remove(name, WATCHDOG_S)
        group.install(by_value, "it", WATCHDOG_S)
        group.install(reading, timeout_s=WATCHDOG_S)
        at, rows = group.query("reading", timeout_s=WATCHDOG_S)
        assert {row["v"]: row["n"] for row in rows.to_pylist()} == expected_by_value(at)
        group.remove("reading", WATCHDOG_S)
        group.remove("it", WATCHDOG_S)


def reading_by_itself(worker: tr.Worker) -> None:
    """Imports what is installed, as soon as it is."""
    with worker.dataflow("base") as scope:
        rows, stream = scope.new_input(UPDATE)
        stream.collection("time", "times").arrange("k").export("rows")
    at, is_reading = 0, False
    while not worker.stopping:
        rows.send({"k": [at], "v": [0], "time": [at], "times": [1]})
        at += 1
        rows.advance_to(at)
        worker.step_or_park(0.001)
        if not is_reading:
            with suppress(tr.GraphError):
                worker.view("it")
                with worker.dataflow("own") as scope:
                    scope.import_arrangement("it").collection().changes().collect()
                is_reading = True
                Path(os.environ[END]).with_name("is reading").touch()


def test_where_the_programs_own_dataflow_imports_from_it_the_run_ends(end: Path) -> None:
    with (
        raises(tr.OperatorError, "not so many") as raised,
        tr.start(reading_by_itself, config=tr.Config(workers=1, checks="exhaustive")) as group,
    ):
        group.install(later, "it", WATCHDOG_S)
        until(end.with_name("is reading").exists)
        end.touch()
        while True:
            group.poll()
            time.sleep(0.01)
    assert "dataflow 'own' is the program's own, and it imports from dataflow 'it'" in str(raised.value)


# When it fails


def at_the_end(scope: tr.Scope) -> Any:
    def construct(context: Any, token: tr.Token) -> Callable[..., None]:
        def logic(output: tr.OutputPort) -> None:
            if context.stopping and token.live:
                raise ValueError("not now")

        return logic

    (stream,) = scope.source("staying", (VALUE,), construct)
    stream.exchange("value").sink("taking", taking)


def serve_and_tell(worker: tr.Worker) -> list[str]:
    """What is installed at the end, though by then all workers may have let go of it."""
    serve(worker)
    return [*worker.kept(Installed).named]


@pytest.mark.parametrize("workers", [1, 2])
def test_it_fails_when_the_run_ends(workers: int, capfd: pytest.CaptureFixture[str]) -> None:
    with tr.start(serve_and_tell, config=tr.Config(workers=workers, checks="exhaustive")) as group:
        group.install(at_the_end, "it", WATCHDOG_S)
        group.stop()
        assert group.wait() == [["it"]] * workers
    told = capfd.readouterr().err.count("'it' has failed, and others go on: operator 'staying'")
    assert 1 <= told <= workers  # one may have been stopped before it came to raise


def sleeping(worker: tr.Worker) -> int:
    """Has nothing to do but what is installed: all workers sleep."""
    while not worker.stopping:
        worker.step_or_park()
    return 0


def after_a_while(scope: tr.Scope) -> None:
    def construct(context: Any, token: tr.Token) -> Callable[..., None]:
        if not is_last(context):
            token.drop()
        is_first = True

        def logic(output: tr.OutputPort) -> None:
            nonlocal is_first
            if token.live and not is_first:
                raise ValueError("it has waited for long")
            if is_first:  # not before: a first run that is late would be the only one
                context.activate_after(50_000_000)
            is_first = False

        return logic

    (stream,) = scope.source("waiting", (VALUE,), construct)
    stream.sink("taking", taking, tr.Exchange("value"))


def test_it_fails_while_others_sleep() -> None:
    with tr.start(sleeping, config=tr.Config(workers=2, checks="exhaustive", spin_us=0)) as group:
        for _ in range(3):
            group.install(after_a_while, "it", WATCHDOG_S)
            assert "it has waited for long" in failure_of(group, "it")
            with raises(tr.DataflowFailedError, "operator 'waiting'", "worker 1"):
                ask(group.asked(WATCHDOG_S).launcher, "waiting", timeout_s=WATCHDOG_S)
            assert ask(group.asked(WATCHDOG_S).launcher, timeout_s=WATCHDOG_S).failed == (failure_of(group, "it"),)
            group.remove("it", WATCHDOG_S)


def test_nothing_is_left_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WRITTEN, str(tmp_path))
    with running(2) as group:
        workers = group.asked(WATCHDOG_S).workers

        def once(fails: Callable[..., Any]) -> None:
            group.install(fails, "it", WATCHDOG_S)
            failure_of(group, "it")
            group.remove("it", WATCHDOG_S)

        def open_files() -> list[int]:
            return [len(os.listdir(f"/proc/{worker}/fd")) for worker in workers]

        once(an_operator)
        before = open_files()
        for fails in [an_operator, a_compiled_one, a_source, a_writer] * (3 if LONG else 1):
            once(fails)
        until(lambda: open_files() == before)
        assert not any(tmp_path.iterdir())


def napping(worker: tr.Worker) -> Any:
    """Worker 0 takes no step from before the failure until the other, which has seen it, has made many."""
    folder = Path(os.environ[WRITTEN])
    let_go = True
    while not worker.stopping:
        if worker.index == 1 and worker.dataflows.failed and not (folder / "enough").exists():
            for _ in range(300):
                worker.step()
            (dataflow,) = worker.dataflows.running
            let_go = dataflow.phase is Phase.LET_GO
            (folder / "enough").touch()
        while worker.index == 0 and (folder / "failing").exists() and not (folder / "enough").exists():
            (folder / "napping").touch()
            time.sleep(0.001)
        worker.step_or_park(0.001)
    return let_go


def once_the_other_naps(scope: tr.Scope) -> None:
    folder = Path(os.environ[WRITTEN])

    def construct(context: Any, token: tr.Token) -> Callable[..., None]:
        def logic(output: tr.OutputPort) -> None:
            if is_last(context) and token.live:
                (folder / "failing").touch()
                until((folder / "napping").exists)
                raise ValueError("now")

        return logic

    (stream,) = scope.source("waiting", (VALUE,), construct)
    stream.sink("taking", taking, tr.Exchange("value"))


def test_nobody_lets_go_before_all_have_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even of a dataflow that has nothing to do."""
    monkeypatch.setenv(WRITTEN, str(tmp_path))
    with tr.start(napping, config=tr.Config(workers=2, checks="exhaustive")) as group:
        group.install(once_the_other_naps, "it", WATCHDOG_S)
        assert "ValueError: now" in failure_of(group, "it")
        group.remove("it", WATCHDOG_S)
        group.stop()
        assert group.wait() == [True, False]
