"""What tells mechanisms apart: who is run, how often, for how many times at once, and what it costs on the ring."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import Bench, bench
from tokenring.engine import (
    COMPLETE,
    Batch,
    Exchange,
    GraphError,
    Notify,
    Schema,
    SchemaError,
    Stream,
    Time,
    TimeRegressionError,
)
from tokenring.operators import Count, Tumbling, aggregate, no_op, word_count
from tokenring.operators.mechanisms import MECHANISMS, mechanism_of, use
from tokenring.operators.mechanisms.logic import Give
from tokenring.shm.queues.progress_ring import RING_READ_POSITION

WORDS = Schema("word at")
CHAIN = 5
TICKS = 20


class Spy:
    """A TimedLogic that keeps nothing but times, and remembers what it was asked for, and in which step."""

    late = 1

    def __init__(self, made: Any, asked: list[tuple[int, Time]]) -> None:
        self._made, self._asked = made, asked
        self._pending: list[Time] = []
        self.takes = (self._take,)

    def _take(self, batch: Batch) -> Time:
        self._pending = sorted(self._pending + batch["at"].tolist())
        return self._pending[0]

    def advance(self, frontier: Time) -> None:
        pass

    def least(self) -> Time:
        return self._pending[0] if self._pending else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        assert self._pending[0] <= upto, "asked for nothing"
        self._asked.append((self._made["steps"](), upto))
        give(self._pending[0], Batch(WORDS, {"word": [1], "at": [self._pending[0]]}))
        self._pending = [at for at in self._pending if at > upto]
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        return sorted(set(batch["at"].tolist()))


def _asked(way: str, times: list[int]) -> tuple[list[tuple[int, Time]], int]:
    """How often an operator is asked to emit, with its steps, for rows of these times that finish at once; and the most
    tokens it held."""
    asked: list[tuple[int, Time]] = []
    made: dict[str, Any] = {}

    def declare(stream: Stream) -> Stream:
        way = mechanism_of(stream.scope)
        return way.timed("spy", [(stream, Exchange("word"))], WORDS, lambda: Spy(made, asked), Notify.IF_TOKEN)

    with bench([WORDS], declare, 1, way, ["at"]) as running:
        worker = running.group.workers[0]
        made["steps"] = lambda: worker.steps
        running.send({"word": [0] * len(times), "at": times})
        running.settle()
        assert asked == []
        held = next(operator.held for operator in worker.inspection.operators if operator.name == "spy")
        running.close()
    return asked, held


@settings(max_examples=examples(30))
@given(times=st.lists(st.integers(0, 1000), min_size=1, max_size=40))
def test_notifications_deliver_one_time_a_call(times: list[int]) -> None:
    asked, held = _asked("notifications", times)
    distinct = sorted(set(times))
    assert [upto for _, upto in asked] == distinct
    assert len({step for step, _ in asked}) == len(distinct), "the system is asked for each"
    assert held == len(distinct), "each time is asked for by a token of its own"


@pytest.mark.parametrize("way", ["tokens", "sequential", "watermarks-X"])
def test_the_others_retire_all_finished_times_in_one_call(way: str) -> None:
    asked, held = _asked(way, list(range(0, 500, 7)))
    assert len(asked) == 1
    assert held == 1


def _chain(stream: Stream) -> Stream:
    for number in range(CHAIN):
        stream = no_op(stream, "word", local=mechanism_of(stream.scope).name == "watermarks-P", name=f"no_op {number}")
    return stream


def _compiled_runs(made: Bench) -> Counter[str]:
    """How often each operator has run, on all workers, by name: all are compiled, and the engine counts."""
    runs: Counter[str] = Counter()
    for worker in made.group.workers:
        for operator in worker.inspection.operators:
            if operator.name not in ("input", "recorder"):
                assert operator.compiled >= 0, f"{operator.name} is Python's"
                runs[operator.name] += int(worker.world.operators["runs"][operator.compiled])
    return runs


def _tick(made: Bench) -> None:
    for time in range(1, TICKS + 1):
        made.advance(time)
        assert [probe.frontier for probe in made.probes] == [time] * len(made.probes)


@pytest.mark.parametrize(
    ("way", "least", "most"),
    [("tokens", 1, 10), ("sequential", 1, 10), ("notifications", 100, 210), ("watermarks-X", 1, 10)],
)
def test_windows_that_end_at_once_are_as_many_runs_as_the_mechanism_says(way: str, least: int, most: int) -> None:
    """Of an operator of the library, whose compiled form is driven by each mechanism."""

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, "word", window=Tumbling("at", 10), n=Count())

    with bench([WORDS], declare, 1, way, ["at"]) as made:
        made.send({"word": [0] * 100, "at": list(range(0, 1000, 10))})
        made.advance(1001)  # now there is room for them, for which runs end as well
        made.send({"word": [0] * 100, "at": list(range(1010, 2010, 10))})
        made.settle()
        before = _compiled_runs(made)
        made.advance(2011)
        runs = _compiled_runs(made) - before
        for stage in ("aggregate.local", "aggregate"):
            assert least <= runs[stage] <= most, stage
        made.close()
        assert len(made.rows) == 200


@pytest.mark.parametrize("way", MECHANISMS)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_only_watermarks_run_idle_operators(way: str, workers: int) -> None:
    with bench([WORDS], _chain, workers, way, ["at"]) as made:
        made.settle()
        before = _compiled_runs(made)
        _tick(made)
        for number in range(CHAIN):
            count = (_compiled_runs(made) - before)[f"no_op {number}"]
            if way.startswith("watermarks"):
                assert count >= TICKS * workers, "each worker's runs for each mark"
            else:
                assert count == 0, "idle operators cost nothing"
        made.close()


def _published(way: str, workers: int) -> int:
    """Progress records that ticks through an idle chain put on the ring."""
    with bench([WORDS], _chain, workers, way, ["at"]) as made:
        made.settle()
        before = made.group.workers[0].progress.ring[RING_READ_POSITION]
        _tick(made)
        return int(made.group.workers[0].progress.ring[RING_READ_POSITION] - before)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_marks_publish_no_progress(workers: int) -> None:
    assert _published("watermarks-X", workers) == 0
    assert _published("watermarks-P", workers) == 0
    assert _published("tokens", workers) >= 2 * TICKS * workers, "a downgrade is two changes"


@pytest.mark.parametrize("way", ["watermarks-X", "watermarks-P"])
def test_watermarks_hold_tokens_at_time_0_until_the_end(way: str) -> None:
    def declare(stream: Stream) -> Stream:
        return word_count(stream, "word", "at", local=True)

    with bench([WORDS], declare, 2, way, ["at"]) as made:
        for time in range(0, 100, 10):
            made.send({"word": [1, 2], "at": [time, time + 5]}, worker=1)
            made.advance(time + 9)
            for worker in made.group.workers:
                counter = next(operator for operator in worker.inspection.operators if operator.name == "word_count")
                assert (counter.held, counter.inputs[0].frontier) == (1, 0)
        assert all(time == 0 for _, time, *_ in made.rows)
        assert len(made.rows) == 20
        made.close()


@pytest.mark.parametrize("way", ["watermarks-X", "notifications"])
def test_inputs_keep_the_rules_of_inputs(way: str) -> None:
    def declare(stream: Stream) -> Stream:
        return no_op(stream, "word")

    with bench([WORDS], declare, 1, way, ["at"]) as made:
        handle = made.inputs[0][0]
        handle.advance_to(5)
        assert (handle.time, handle.closed) == (5, False)
        with raises(TimeRegressionError, "'input'", "from 5", "to 4"):
            handle.advance_to(4)
        handle.send({"word": [1], "at": [7]})
        handle.close()
        handle.close()
        assert handle.closed
        made.close()


def test_a_source_cannot_take_its_marks_back() -> None:
    from tests.engine.helpers import build, simulated

    seen: list[str] = []

    def construct(context: Any, outlet: Any) -> Any:
        def logic(output: Any) -> None:
            outlet.advance(7)
            outlet.advance(7)
            with pytest.raises(TimeRegressionError) as caught:
                outlet.advance(6)
            seen.append(str(caught.value))
            assert (outlet.time, outlet.live) == (7, True)
            outlet.close()
            outlet.close()
            assert not outlet.live

        return logic

    def declare(worker: Any, scope: Any) -> Any:
        way = use(scope, "watermarks-X")
        (stream,) = way.source(scope, "early", (WORDS,), construct, ("at",))
        return way.probe(stream)

    with simulated() as group:
        (probe,) = build(group, declare)
        group.run()
        assert probe.done()
    assert seen[0].startswith("cannot move the watermark of OperatorContext('early', worker 0 of 1) from 7 to 6")


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_operator_has_two_forms(name: str) -> None:
    """Nor none: who declares one says which it is."""

    def declare(worker: Any, scope: Any) -> Any:
        way = use(scope, name)
        stream = way.new_input(scope, WORDS, "at")[1]
        edge: Any = (stream, Exchange("word"))
        for forms in ({}, {"make": Spy, "compiled": Spy}):
            both: dict[str, Any] = {"make": None, **forms}
            says = ("operator 'spy'", "two" if forms else "no logic", "compiled=")
            with raises(GraphError, *says):
                way.timed("spy", [edge], WORDS, notify=Notify.IF_TOKEN, **both)
            with raises(GraphError, *says):
                way.respond("spy", edge, WORDS, **both)
            with raises(GraphError, *says):
                way.source(scope, "spy", (WORDS,), both["make"], ("at",), compiled=both.get("compiled"))
        return way.probe(stream)

    with simulated() as group:
        build(group, declare)


@pytest.mark.parametrize("name", MECHANISMS)
def test_sources_and_inputs_name_columns_of_times_that_there_are(name: str) -> None:
    def declare(worker: Any, scope: Any) -> Any:
        way = use(scope, name)
        with raises(SchemaError, "source 'spy'", "column 'att'", "word, at", "did you mean 'at'"):
            way.source(scope, "spy", (WORDS,), Spy, ("att",))
        with raises(GraphError, "source 'spy'", "each output's column of times, 1 in all", "('at', '')"):
            way.source(scope, "spy", (WORDS,), Spy, ("at", ""))
        for column in ("att", "word") if name != "notifications" else ():  # which looks at rows as they are sent
            with raises(SchemaError, "input 'fed'", f"'{column}'"):
                way.new_input(scope, Schema(word="string", at="int64"), column, "fed")
        return way.probe(way.new_input(scope, WORDS, "at")[1])

    with simulated() as group:
        build(group, declare)
