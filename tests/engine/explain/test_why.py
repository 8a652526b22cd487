"""`why` names what holds a frontier back: every kind of holder, and nothing once the time has passed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from tests.engine.declare.loops import around
from tests.engine.helpers import VALUE, Recorder, build, edge, key_for, settle, simulated, take_in
from tests.errors import raises
from tokenring.engine import (
    Exchange,
    Explanation,
    GraphError,
    Holder,
    InputGroup,
    InputPort,
    OperatorContext,
    OutputPort,
    Scope,
    Token,
    TokenError,
    TokenRef,
    Worker,
)
from tokenring.engine.explain.explanation import merge


def keeper(context: OperatorContext, token: Token) -> Callable[..., None]:
    """Retains a token for each message, ten later, for ever."""
    token.drop()
    kept = []

    def logic(messages: InputPort, output: OutputPort) -> None:
        for reference, _ in messages:
            held = reference.retain()
            held.downgrade(reference.time + 10)
            kept.append(held)

    return logic


RETAINED_AT = inspect.getsourcelines(keeper)[1] + 7


def release(worker: Worker, operator: str) -> None:
    """Drop what `keeper` kept, so that the test loses no token."""
    (found,) = [one for one in worker.inspection.operators if one.name == operator]
    for token in inspect.getclosurevars(found.logic).nonlocals["kept"]:
        token.drop()


def kept(worker: Worker, scope: Scope) -> Any:
    handle, stream = scope.new_input(VALUE)
    with scope.region("outer"):
        kept_stream = stream.unary("keeper", VALUE, keeper)
    return scope, handle, kept_stream.unary("after", VALUE, Recorder().unary).probe()


def alike(worker: Worker, scope: Scope) -> Any:
    handle, stream = scope.new_input(VALUE)
    for _ in range(2):
        stream.unary("twin", VALUE, Recorder().unary).probe()
    stream.probe()
    stream.unary("alone", VALUE, Recorder().unary).probe()
    stream.probe()
    return scope, handle


def test_probes_of_equal_names_are_told_apart() -> None:
    with simulated() as group:
        ((scope, handle),) = build(group, alike)
        said = [scope.running.why(probe).place for probe in scope.probes]
        first_line = inspect.getsourcelines(alike)[1]
        twins, first, second = first_line + 3, first_line + 4, first_line + 6
        assert said == [
            f"the probe of operator 'twin' output 0, declared at {__file__}:{twins} (alike), number 1 of 2",
            f"the probe of operator 'twin' output 0, declared at {__file__}:{twins} (alike), number 2 of 2",
            f"the probe of operator 'input' output 0, declared at {__file__}:{first} (alike)",
            "the probe of operator 'alone' output 0",
            f"the probe of operator 'input' output 0, declared at {__file__}:{second} (alike)",
        ]
        handle.close()
        settle(group)


def test_a_retained_token_is_named_with_the_line_that_retained_it() -> None:
    with simulated() as group:
        ((scope, handle, probe),) = build(group, kept)
        handle.advance_to(5)
        handle.send({"value": [1]})
        handle.close()
        settle(group)
        found = scope.running.why(probe)
        assert found.place == "the probe of operator 'after' output 0"
        assert (found.dataflow, found.frontier, found.passed) == ("test", (15,), False)
        assert (found.workers, found.peers) == ((0,), 1)
        (pointstamp,) = found.pointstamps
        assert (pointstamp.operator, pointstamp.port) == ("outer/keeper", "output 0")
        assert (pointstamp.time, pointstamp.count, pointstamp.elsewhere, pointstamp.results) == (15, 1, 0, (15,))
        (holder,) = pointstamp.holders
        assert (holder.kind, holder.worker, holder.count) == ("token", 0, 1)
        assert holder.origin == f"{__file__}:{RETAINED_AT} (logic)"
        assert f"1 token on worker 0, made at {holder.origin}" in str(found)
        assert scope.running.why(probe, 14).passed
        assert "time 14 has passed; its frontier is 15" in str(scope.running.why(probe, 14))
        assert scope.running.why(probe, 20).pointstamps == found.pointstamps
        assert scope.running.why("after") == group.workers[0].inspection.why("after")
        assert scope.running.why(("outer/keeper", "input", 0)).passed
        assert Explanation.from_json(orjson.loads(orjson.dumps(found))) == found
        release(group.workers[0], "outer/keeper")
        settle(group)
        assert scope.running.done
        assert scope.running.why(probe).passed
        assert group.workers[0].inspection.why(probe, 3).passed
        assert scope.running.why("after").passed
        assert str(scope.running.why(probe)) == "a probe: its dataflow is finished, nothing can come any more"


def test_an_input_that_is_not_closed_is_named_with_its_declaration() -> None:
    with simulated() as group:
        ((scope, handle, probe),) = build(group, kept)
        grouped = InputGroup([handle])
        grouped.advance_to(7)  # the handle's own token is not told
        settle(group)
        for place in (probe, handle, "input"):
            (pointstamp,) = scope.running.why(place).pointstamps
            (holder,) = pointstamp.holders
            assert (pointstamp.operator, pointstamp.time, holder.kind) == ("input", 7, "input")
            assert holder.origin.endswith("(kept)")
            assert "not closed, declared at" in str(holder)
        grouped.close()
        settle(group)


def test_messages_wait_at_an_input_or_are_on_their_way() -> None:
    with simulated(2) as group:
        first, second = build(group, edge(Exchange("value")))
        first[0].send({"value": [key_for(0, 2)] * 3})
        first[0].send({"value": [key_for(1, 2)] * 4})
        for handle, _, _ in (first, second):
            handle.close()
        for worker in group.workers:
            worker.turns.exchange(True)  # all counts are known, nothing is delivered
        (far,) = group.workers[0].inspection.why(first[1]).pointstamps
        assert (far.operator, far.port, far.count, far.holders) == ("record", "input 0", 2, ())
        assert "2 messages on other workers, or in the data queues" in str(group.workers[0].inspection.why(first[1]))
        take_in(group.workers[0])
        take_in(group.workers[1])
        asked = zip(group.workers, (first, second), strict=True)
        views = [worker.inspection.why(probe) for worker, (_, probe, _) in asked]
        assert views[0].pointstamps[0].holders == (Holder("waiting", 0, 1, rows=3),)
        assert (views[0].pointstamps[0].elsewhere, views[1].pointstamps[0].elsewhere) == (1, 1)
        (whole,) = merge(views).pointstamps
        assert [holder.rows for holder in whole.holders] == [3, 4]
        assert whole.elsewhere == 0
        assert replace(whole, count=1).elsewhere == 0, "workers look one after the other, so more may be named"
        assert "1 message (4 rows) on worker 1, waiting at this input" in str(merge(views))
        settle(group)


def test_rows_that_wait_for_room_are_named_where_they_wait() -> None:
    with simulated(2) as group:
        (handle, probe, _), (other, _, _) = build(group, edge(Exchange("value")))
        for _ in range(20):
            handle.send({"value": [key_for(1, 2)] * 60})
        handle.close()
        other.close()
        group.workers[0].step()
        found = group.workers[0].inspection.why(probe)
        (postponed,) = [holder for one in found.pointstamps for holder in one.holders if holder.kind == "postponed"]
        assert postponed.target == "operator 'record' input 0"
        assert 0 < postponed.rows < 1200
        assert "waiting for room in a full data queue to operator 'record' input 0" in str(found)
        settle(group)


def test_other_workers_tokens_are_counted_here_and_named_there() -> None:
    with simulated(2) as group:
        made = build(group, kept)
        for scope, handle, _ in made[:1]:
            handle.close()
            settle(group)
            (pointstamp,) = scope.running.why(made[0][2]).pointstamps
        assert (pointstamp.count, pointstamp.elsewhere, pointstamp.holders) == (1, 1, ())
        assert "1 token on other workers" in str(made[0][0].running.why(made[0][2]))
        whole = merge([scope.running.why(probe) for scope, _, probe in made])
        assert whole.workers == (0, 1)
        assert [holder.worker for holder in whole.pointstamps[0].holders] == [1]
        made[1][1].close()
        settle(group)


def test_loops_are_explained_with_times_of_several_coordinates() -> None:
    def again(reference: TokenRef) -> bool:
        if reference.time[1] < 3:
            return True
        held.append(reference.retain())
        return False

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        loop, output = around(scope, stream, again)
        left = loop.leave(output)
        inner = output.probe()
        return scope, loop, handle, left.probe(), inner, output

    held: list[Token] = []
    with simulated() as group:
        ((scope, loop, handle, probe, inner, output),) = build(group, declare)
        handle.advance_to(4)
        handle.send({"value": [1]})
        handle.close()
        settle(group)
        (pointstamp,) = scope.running.why(probe).pointstamps
        assert (pointstamp.operator, pointstamp.time, pointstamp.results) == ("body", (4, 3), (4,))
        assert "time (4, 3) (as 4 there)" in str(scope.running.why(probe))
        assert loop.running.why(inner, (4, 2)).passed
        (again,) = loop.running.why(("body", "input", 1)).pointstamps  # around the loop once more
        assert again.results == ((4, 4),)
        assert Explanation.from_json(orjson.loads(orjson.dumps(scope.running.why(inner)))) == scope.running.why(inner)
        with raises(TokenError, "operator 'body' output 0", "tuple of 2 integers", "not 4"):
            loop.running.why(output, 4)
        held.pop().drop()
        settle(group)


def test_inside_a_call_the_message_in_hand_is_named() -> None:
    seen = []

    def declare(worker: Worker, scope: Scope) -> Any:
        def constructor(context: OperatorContext) -> Callable[..., None]:
            def logic(messages: InputPort) -> None:
                for _ in messages:
                    seen.append(scope.running.why(probes[0]))

            return logic

        handle, stream = scope.new_input(VALUE)
        probes.append(stream.sink("last", constructor))
        return handle

    probes: list[Any] = []
    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send({"value": [1]})
        handle.close()
        settle(group)
    (found,) = seen
    (pointstamp,) = found.pointstamps
    assert pointstamp.holders == (Holder("in hand", 0, 1),)
    assert "worker 0 is inside operator 'last'" in str(found)


def test_a_place_that_is_none_is_refused_with_the_names_there_are() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        with raises(GraphError, "dataflow 'test'", "not built", "worker.dataflow()"):
            scope.running.why("input")
        handle, stream = scope.new_input(VALUE)
        with raises(GraphError, "dataflow 'test'", "not built", "worker.dataflow()"):
            worker.inspection.why(stream)
        joined = scope.operator("join")
        joined.input(stream)
        joined.input(stream)
        joined.build(lambda context: lambda left, right: None)
        return scope, handle

    with simulated() as group:
        ((scope, handle),) = build(group, declare)
        ((other, *_),) = build(group, kept)
        with raises(GraphError, "operator 'inputs'", "input, join"):
            scope.running.why("inputs")
        inspection = group.workers[0].inspection
        with raises(GraphError, "2 running operators", "'input'", "all of them are test/input", "probe", "name="):
            inspection.why("input")
        build(group, kept, "more")
        with raises(GraphError, "2 running operators", "'after'", "say test/after or more/after"):
            inspection.why("after")
        assert inspection.why("more/after").dataflow == "more"
        cure = '("join", "input" or "output", number), or --port input:1'
        with raises(GraphError, "operator 'join'", "2 input", "0 output", cure):
            scope.running.why("join")
        with raises(GraphError, "operator 'join'", "2 input", "0 output", '("join", "input" or "output", number)'):
            scope.running.why(("join", "input", 2))
        with raises(GraphError, "operator 'input' output 0", "worker 0", "another dataflow"):
            other.running.why(handle)
        with raises(GraphError, "7", "probe", "operator's name", '(name, "input" or "output", number)'):
            scope.running.why(7)
        assert scope.running.why(("join", "input", 1)).frontier == (0,)
