"""Groups of inputs and of probes do what each of theirs would do by itself, and leave it able to."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    COMPLETE,
    MAX_TIME,
    DroppedTokenError,
    GraphError,
    InputGroup,
    InputHandle,
    Probe,
    ProbeGroup,
    Scope,
    TimeRegressionError,
    TokenError,
    UsageError,
    Worker,
)
from tokenring.engine.graph.location import Source


def many(count: int) -> Any:
    def declare(worker: Worker, scope: Scope) -> Any:
        fed = [scope.new_input(VALUE, f"input {number}") for number in range(count)]
        return [handle for handle, _ in fed], [stream.unary("r", VALUE, Recorder().unary).probe() for _, stream in fed]

    return declare


def test_a_group_moves_in_one_exchange() -> None:
    with simulated() as group:
        ((handles, probes),) = build(group, many(20))
        inputs, outputs = InputGroup(handles), ProbeGroup(probes)
        worker = group.workers[0]
        settle(group)
        exchanges = []
        exchange = worker.turns._exchange_progress
        worker.turns._exchange_progress = lambda sent: exchanges.append(sent) or exchange(sent)
        assert outputs.less_than(5)
        inputs.advance_to(5)
        assert len(exchanges) == 1
        assert not outputs.less_than(5)
        assert outputs.less_than(6)
        assert outputs.frontier == 5
        assert (len(inputs), len(outputs)) == (20, 20)
        inputs.close()
        settle(group)
        assert len(inputs) == 0
        assert worker.complete
        assert outputs.done()


def test_each_handle_still_works_by_itself() -> None:
    with simulated(checks="exhaustive") as group:
        ((handles, probes),) = build(group, many(3))
        inputs = InputGroup(handles)
        inputs.advance_to(4)
        assert [handle.time for handle in handles] == [4, 4, 4]
        handles[1].send({"value": [1]})
        handles[1].advance_to(6)
        with raises(TimeRegressionError, "operator 'input 1' output 0", "worker 0", "from 6", "to 5"):
            inputs.advance_to(5)
        assert [handle.time for handle in handles] == [4, 6, 4], "nobody was moved"
        inputs.advance_to(6)
        handles[0].close()
        inputs.advance_to(7)
        settle(group)
        assert [probe.frontier for probe in probes] == [COMPLETE, 7, 7]
        inputs.remove(handles[1])
        inputs.advance_to(8)
        assert [handles[1].time, handles[2].time] == [7, 8]
        handles[1].advance_to(9)
        times = (f"to {MAX_TIME + 1}", f"{MAX_TIME}")
        with raises(TimeRegressionError, "operator 'input 2' output 0 on worker 0", *times, "close()"):
            inputs.advance_to(MAX_TIME + 1)
        InputGroup(handles[1:2]).close()
        inputs.close()
        settle(group)
        assert group.workers[0].complete


@given(st.data())
def test_groups_agree_with_single_handles(data: st.DataObject) -> None:
    """Random moves of a group, of members, in and out; the same on plain handles is the reference."""
    with simulated(ring_records=64) as group:
        ((handles, probes), (plain, _)) = [build(group, many(5))[0] for _ in range(2)]
        inputs, members = InputGroup(), set()
        for _ in range(data.draw(st.integers(1, 15))):
            chosen = data.draw(st.integers(0, 4))
            what = data.draw(st.sampled_from(["all", "all", "one", "send", "in", "out", "close"]))
            handle, other = handles[chosen], plain[chosen]
            if what == "all" and members:
                time = max(plain[member].time for member in members) + data.draw(st.integers(0, 3))
                inputs.advance_to(time)
                for member in members:
                    plain[member].advance_to(time)
            elif what == "close":
                handle.close()
                other.close()
                members.discard(chosen)
            elif handle.closed:
                continue
            elif what == "one":
                time = other.time + data.draw(st.integers(0, 3))
                handle.advance_to(time)
                other.advance_to(time)
            elif what == "send":
                handle.send({"value": [1]})
            elif what == "in" and chosen not in members:
                inputs.add(handle)
                members.add(chosen)
            elif what == "out" and chosen in members:
                inputs.remove(handle)
                members.discard(chosen)
        settle(group)
        assert len(inputs) == len(members)
        for handle, other, probe in zip(handles, plain, probes, strict=True):
            assert handle.closed == other.closed
            assert probe.frontier == (COMPLETE if other.closed else other.time)
            assert other.closed or handle.time == other.time
        inputs.close()
        for handle in handles + plain:
            handle.close()
        settle(group)
        assert group.workers[0].complete


class Loud(InputHandle):
    """A handle that does more when it is moved."""

    def advance_to(self, time: int) -> None:
        raise NotImplementedError


def test_what_a_group_refuses() -> None:
    with simulated(2) as group:
        (handles, probes), (others, far) = build(group, many(3))
        inputs = InputGroup(handles[:1])
        with raises(GraphError, "operator 'input 0' output 0", "worker 0", "in a group already", "remove"):
            InputGroup(handles[:1])
        with raises(GraphError, "operator 'input 0' output 0", "worker 1", "another worker"):
            inputs.add(others[0])
        others[0].advance_to(3)  # it was let go
        with raises(GraphError, "operator 'input 1' output 0", "worker 0", "not in this group"):
            inputs.remove(handles[1])
        with raises(GraphError, "an input", "built", "worker.dataflow()"):
            inputs.add(InputHandle(VALUE))
        handles[2].close()
        with raises(DroppedTokenError, "operator 'input 2' output 0", "worker 0", "closed"):
            inputs.add(handles[2])
        with raises(GraphError, "input", "not built", "by itself"):
            inputs.add(Loud(VALUE))
        with raises(GraphError, "a probe", "built", "worker.dataflow()"):
            ProbeGroup([Probe(Source(0, 0))])
        with raises(GraphError, "a probe", "another worker"):
            ProbeGroup([probes[0], far[0]])
        with raises(GraphError, "in a group already"):
            InputGroup([handles[1], handles[1]])
        assert len(InputGroup([handles[1]])) == 1, "the group that failed has nobody"
        for none in (5, None):
            with raises(GraphError, "a group of inputs", f"not {none!r}"):
                InputGroup(none)  # type: ignore[arg-type]
            with raises(GraphError, "a group of inputs", "scope.new_input", f"not {none!r}"):
                InputGroup([none])  # type: ignore[list-item]
            with raises(GraphError, "a group of probes", f"not {none!r}"):
                ProbeGroup(none)  # type: ignore[arg-type]
            with raises(GraphError, "a group of probes", "stream.probe()", f"not {none!r}"):
                ProbeGroup([none])  # type: ignore[list-item]
        for time in ("x", None, (1,), float("nan"), float("inf"), 2.5, True):
            for ask in (probes[0].less_than, probes[0].less_equal, ProbeGroup(probes).less_than):
                with raises(UsageError, f"a probe (declared at {__file__}:", "an integer", f"not {time!r}"):
                    ask(time)
        with raises(GraphError, "operator 'input 2' output 0", "no group"):
            others[2].leave(5)
        with raises(GraphError, "operator 'input 2' output 0", "5, which is no group"):
            others[2].enter(5, 5)  # type: ignore[arg-type]
        with raises(UsageError, "operator 'input 0' output 0", "block", "'no'"):
            handles[0].send({"value": [1]}, block="no")  # type: ignore[arg-type]
        for move in (inputs.advance_to, handles[0].advance_to, lambda time: handles[0].send({"value": [1]}, time)):
            for no_time in ("x", True):
                with raises(TokenError, "operator 'input 0' output 0", repr(no_time)):
                    move(no_time)


def test_empty_groups_hold_nobody_up() -> None:
    InputGroup().advance_to(3)
    InputGroup().close()
    assert ProbeGroup().frontier == COMPLETE
    assert ProbeGroup().done()
    assert not ProbeGroup().less_than(7)


def test_a_group_larger_than_the_log_and_the_ring() -> None:
    with simulated() as group:
        ((handles, probes),) = build(group, many(2500))
        inputs, outputs = InputGroup(handles), ProbeGroup(probes)
        inputs.advance_to(3)
        settle(group)
        assert not outputs.less_than(3)
        group.workers[0].tracker.entries.check()
