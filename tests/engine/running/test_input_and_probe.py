"""Manual inputs hold a token outside any operator and act at once; probes show where a stream stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    COMPLETE,
    Batch,
    DroppedTokenError,
    GraphError,
    InputHandle,
    Probe,
    Schema,
    SchemaError,
    Scope,
    TimeRegressionError,
    Worker,
)


def _fed(worker: Worker, scope: Scope) -> tuple[InputHandle, Probe, Recorder]:
    handle, stream = scope.new_input(VALUE)
    recorder = Recorder()
    return handle, stream.unary("record", VALUE, recorder.unary).probe(), recorder


def test_moving_an_input_takes_effect_at_once() -> None:
    with simulated(2) as group:
        (handle, probe, _), (other, far, _) = build(group, _fed)
        settle(group)
        assert (handle.time, probe.frontier) == (0, 0)
        other.advance_to(9)
        handle.advance_to(4)
        assert handle.time == 4
        assert probe.frontier == 4, "both moves are published, and this worker has read them"
        assert far.frontier == 0, "the other worker has not stepped"
        group.workers[1].step()
        assert far.frontier == 4


def test_rows_come_at_the_time_of_the_input() -> None:
    with simulated() as group:
        ((handle, probe, recorder),) = build(group, _fed)
        handle.send({"value": [1]})
        handle.advance_to(5)
        handle.send(Batch(VALUE, {"value": [2, 3]}))
        handle.send({"value": []})
        settle(group)
        assert recorder.rows == [(0, 1), (5, 2), (5, 3)]
        assert (probe.frontier, probe.less_than(5), probe.less_than(6), probe.done()) == (5, False, True, False)


def test_closing_is_final_and_may_be_said_twice() -> None:
    with simulated() as group:
        ((handle, probe, _),) = build(group, _fed)
        with handle:
            assert not handle.closed
        assert handle.closed
        handle.close()
        settle(group)
        assert probe.frontier == COMPLETE
        assert probe.done()
        assert group.workers[0].complete
        for use in (lambda: handle.send({"value": [1]}), lambda: handle.advance_to(3), lambda: handle.time):
            with raises(DroppedTokenError, "operator 'input' output 0", "worker 0", "closed"):
                use()


def test_an_input_does_not_go_back() -> None:
    with simulated() as group:
        ((handle, probe, _),) = build(group, _fed)
        handle.advance_to(7)
        handle.advance_to(7)
        with raises(TimeRegressionError, "operator 'input' output 0", "worker 0", "from 7", "to 6"):
            handle.advance_to(6)
        assert handle.time == probe.frontier == 7


def test_rows_of_another_schema() -> None:
    with simulated() as group:
        ((handle, _, _),) = build(group, _fed)
        with raises(SchemaError, "operator 'input' output 0", "worker 0", "'value' is missing", "'other' is too much"):
            handle.send({"other": [1]})
        with raises(
            SchemaError, "operator 'input' output 0", "worker 0", "Schema(value=int64)", "not Schema(other=int64)"
        ):
            handle.send(Batch(Schema("other"), {"other": [1]}))


def test_before_the_dataflow_is_built() -> None:
    scope = Scope("unbuilt")
    handle, stream = scope.new_input(VALUE)
    probe = stream.probe()
    uses: list[Callable[[], Any]] = [
        lambda: handle.send({"value": [1]}),
        lambda: handle.advance_to(1),
        lambda: handle.time,
        lambda: probe.frontier,
        lambda: probe.less_than(1),
    ]
    for use in uses:
        with raises(GraphError, "built", "worker.dataflow()"):
            use()
    assert not handle.closed


def test_listeners_hear_of_every_move_once() -> None:
    with simulated() as group:
        ((handle, probe, _),) = build(group, _fed)
        heard: list[int] = []
        probe.on_advance(lambda: heard.append(probe.frontier))
        for time in (2, 2, 5):
            handle.advance_to(time)
        group.workers[0].step()
        handle.close()
        settle(group)
        assert heard == [2, 5, COMPLETE]
