"""Groups with a budget of memory: sources that outrun an operator, state that does not fit, budgets that are too small,
workers that do not answer.
"""

import multiprocessing
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.errors import raises
from tokenring.engine import (
    AnyStream,
    Batch,
    Config,
    ConfigError,
    Exchange,
    InputPort,
    MemoryBudgetError,
    OperatorContext,
    OutputPort,
    Schema,
    Token,
    Worker,
    execute,
)
from tokenring.engine.budget import Pressure, Verdict, Weight, in_words, relief, require_budget, watching
from tokenring.operators import Count, aggregate, collect
from tokenring.operators.state import grown

_MIB = 2**20
_ROWS = Schema("key")
_BATCH_ROWS = 50_000


def _budget(room_bytes: int, workers: int = 2) -> int:
    """One that leaves so much for state and rows, whatever this process holds just now."""
    config = Config(workers=workers, queue_bytes=_MIB // 2)
    return require_budget(2**50, config._layout_in) + room_bytes


def _config(room_bytes: int, workers: int = 2) -> Config:
    return Config(workers=workers, queue_bytes=_MIB // 2, memory_bytes=_budget(room_bytes, workers))


def _source(scope: Any, batches: int, heeds: bool = True) -> AnyStream:
    """On each worker so many batches, of new keys, as fast as it goes. heeds: looks at `congested`."""

    def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        sent = 0

        def logic(output: OutputPort) -> None:
            nonlocal sent
            if not token.live:
                return
            if heeds and context.congested:
                context.activate_after(1_000_000)
                return
            first = (sent * context.peers + context.worker_index) * _BATCH_ROWS
            output.give(token, Batch(_ROWS, {"key": np.arange(first, first + _BATCH_ROWS)}))
            sent += 1
            if sent == batches:
                token.drop()
            else:
                context.activate()

        return logic

    (stream,) = scope.source("source", (_ROWS,), construct)
    found: AnyStream = stream
    return found


def _slow(taken: list[int]) -> Callable[[OperatorContext], Callable[[InputPort], None]]:
    """Takes a message every two milliseconds, and lets the others wait."""

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        due = 0.0

        def logic(rows: InputPort) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + 2e-3
                for _, batch in rows:
                    taken.append(int(batch["key"].sum()))
                    break
            context.activate_after(2_000_000)

        return logic

    return construct


def _looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Verdict]]:
    """What the launcher sees from now on: bytes, and what it makes of them."""
    seen, own_look = [], Pressure.look

    def look(self: Pressure, used: int, is_relieved: bool, is_still: bool) -> Verdict:
        verdict = own_look(self, used, is_relieved, is_still)
        seen.append((used, verdict))
        return verdict

    monkeypatch.setattr(Pressure, "look", look)
    return seen


@pytest.mark.parametrize(
    ("heeds", "is_late"), [(True, False), pytest.param(False, True, marks=pytest.mark.slow)]
)
def test_a_source_that_outruns_an_operator_stays_within_it(
    heeds: bool, is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the launcher looks so seldom that 100 MB come between: its thread may get no processor."""
    if is_late:
        monkeypatch.setattr(watching, "_GROWS_BYTES_A_S", 1)
    batches, seen = 440, _looks(monkeypatch)

    def program(worker: Worker) -> int:
        taken: list[int] = []
        with worker.dataflow() as scope:
            _source(scope, batches, heeds).sink("slow", _slow(taken), Exchange("key"))
        worker.run()
        return sum(taken)

    config = _config(180 * _MIB)
    assert sum(execute(program, config=config)) == sum(range(2 * batches * _BATCH_ROWS))
    assert max(used for used, _ in seen) < config.memory_bytes, "350 MB would have waited"
    assert Verdict.PAUSE in {verdict for _, verdict in seen}


@pytest.mark.parametrize(("kept_bytes", "has_room"), [(_MIB, False), (2**40, True)])
def test_who_keeps_more_than_its_worker_takes_has_room(
    kept_bytes: int, has_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relief, "own_bytes", lambda pid: 2 * _MIB)
    said = relief._heaviest(0, [Weight("keeper", kept_bytes, 0)])
    assert in_words(kept_bytes) in said and ("room for rows to come" in said) == has_room


def test_state_that_does_not_fit_ends_the_run_with_the_name_of_who_keeps_it() -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            collect(aggregate(_source(scope, 10_000), "key", count=Count()))
        worker.run()

    with pytest.raises(MemoryBudgetError) as raised:
        execute(program, config=_config(60 * _MIB))
    text = str(raised.value)
    assert "most is kept by operator 'aggregate' on worker" in text
    assert "its budget is" in text and "memory_bytes, --memory" in text


@pytest.mark.parametrize("looks", ["often", "once", "never"])
def test_a_table_that_cannot_grow_at_once_ends_the_run_before_it_does(
    looks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the launcher has come to look at it, too, or after a look at what it was before."""
    looked, has_grown = multiprocessing.Event(), multiprocessing.Event()

    def look_once(watch: watching.BudgetWatch) -> None:
        watch.look(dict(watch._living()))
        looked.set()

    if looks == "once":
        monkeypatch.setattr(watching.BudgetWatch, "_run", look_once)
    if looks == "never":
        monkeypatch.setattr(watching.BudgetWatch, "start", lambda *_: None)

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        if looks == "once":
            assert looked.wait(60)
        stamps = np.full(_MIB * 100 // 8, -1)  # the rest would fit, were this not there

        def logic(rows: InputPort, output: OutputPort) -> None:
            for _ in rows:
                grown(stamps, 4 * len(stamps), -1)
                has_grown.set()

        return logic

    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            rows, stream = scope.new_input(_ROWS)
            stream.unary("doubling", _ROWS, construct)
        rows.send({"key": [1]})
        worker.step_while(lambda: not has_grown.is_set())

    with pytest.raises(MemoryBudgetError) as raised:
        execute(program, config=_config(350 * _MIB, workers=1))
    text = str(raised.value)
    assert "operator 'doubling' on worker 0: it is to take 300 MiB more at once, where the run takes" in text
    assert "most is kept by operator 'doubling' on worker 0, 100 MiB; give the run more (memory_bytes" in text


def test_state_that_waits_for_time_to_pass_may_use_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is beyond where sources pause, and freed only when they go on."""
    looked, is_full = multiprocessing.Semaphore(0), multiprocessing.Event()

    def program(worker: Worker) -> int:
        def keep(context: OperatorContext) -> Callable[[InputPort], None]:
            kept: list[np.ndarray] = []

            def logic(rows: InputPort) -> None:
                for _, batch in rows:
                    if not is_full.is_set():
                        if len(kept) % 4 == 0:  # no faster than the launcher looks, however late that is
                            assert looked.acquire(timeout=60)
                        kept.append(np.ones(_MIB // 16))
                    elif batch["key"][0] >= 2_900 * _BATCH_ROWS:
                        kept.clear()

            return logic

        with worker.dataflow() as scope:
            _source(scope, 3_000).sink("keeps", keep)
        worker.run()
        return 1

    own_look = watching.BudgetWatch.look

    def look(watch: watching.BudgetWatch, living: dict[int, int]) -> float:
        until = own_look(watch, living)
        if seen and seen[-1][1] is Verdict.PAUSE:  # not the flag, which the worker also raises, grown by its part
            is_full.set()
        looked.release()
        return until

    monkeypatch.setattr(watching.BudgetWatch, "look", look)
    seen = _looks(monkeypatch)
    assert execute(program, config=_config(100 * _MIB, 1)) == [1]
    verdicts = [verdict for _, verdict in seen]
    assert Verdict.GO_ON in verdicts[verdicts.index(Verdict.PAUSE) :]


def test_what_is_sent_by_hand_pauses_too() -> None:
    def program(worker: Worker) -> int:
        taken: list[int] = []
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(_ROWS)
            stream.sink("slow", _slow(taken), Exchange("key"))
        for number in range(300):
            handle.send({"key": np.arange(number * _BATCH_ROWS, (number + 1) * _BATCH_ROWS)})
        worker.run()
        return len(taken)

    assert execute(program, config=_config(80 * _MIB, 1)) == [300]


def test_a_program_that_keeps_everything_itself_is_named_as_such() -> None:
    def program(worker: Worker) -> None:
        kept = []
        with worker.dataflow() as scope:
            _source(scope, 100).probe()
        while True:
            if worker.index == 1:
                kept.append(np.ones(_MIB // 8))
            worker.step_or_park(0.001)

    config = _config(50 * _MIB)
    with raises(MemoryBudgetError, in_words(config.memory_bytes), "worker 1", "program", "memory_bytes", "--memory"):
        execute(program, config=config)


def test_a_worker_in_one_long_call_does_not_keep_the_run_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenring.engine.budget.watching._ANSWER_S", 0.1)
    monkeypatch.setattr("tokenring.engine.group.group._GRACE_S", 0.05)

    def program(worker: Worker) -> None:
        if worker.index == 1:
            kept = [np.ones(_MIB // 8) for _ in range(200)]
            while kept:
                time.sleep(0.01)
        while True:
            worker.step_or_park(0.001)

    config = _config(40 * _MIB)
    with raises(
        MemoryBudgetError, in_words(config.memory_bytes), "worker 1", "in one call", "memory_bytes", "--memory"
    ):
        execute(program, config=config)


def test_a_budget_that_cannot_hold_the_group_is_refused_at_once() -> None:
    def program(worker: Worker) -> None:
        raise AssertionError("nothing is started")

    with raises(ConfigError, "memory_bytes", "10.0 MiB", "2 worker(s)", "queue_bytes"):
        execute(program, 2, memory_bytes=10 * _MIB)
    with raises(ConfigError, "memory_bytes=2097152", "config.memory_bytes=1048576"):
        execute(program, config=Config(workers=1, memory_bytes=_MIB), memory_bytes=2 * _MIB)
    with raises(ConfigError, "memory_bytes", "negative"):
        Config(memory_bytes=-1)


def test_the_environment_has_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENRING_MEMORY", "3G")
    assert Config(workers=1).memory_bytes == 3 * 2**30
    assert Config(workers=1, memory_bytes=5).memory_bytes == 5
    monkeypatch.setenv("TOKENRING_MEMORY", "three")
    with raises(ConfigError, "'three'", "4G"):
        Config(workers=1)


def test_queues_take_a_part_of_a_small_budget_only() -> None:
    assert Config(workers=8, memory_bytes=400 * _MIB).layout.total_bytes < 60 * _MIB
    assert Config(workers=8).layout.total_bytes > 100 * _MIB


def test_the_watch_ends_with_the_group() -> None:
    execute(lambda worker: None, config=_config(60 * _MIB))
    assert not [thread for thread in threading.enumerate() if thread.name == "tokenring-memory"]
