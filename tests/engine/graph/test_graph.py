"""Building dataflows: what cannot be built and why, what every worker must agree on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, Recorder, build, simulated
from tests.errors import Fact, raises
from tokenring.engine import (
    Broadcast,
    ConfigError,
    Exchange,
    GraphError,
    GraphMismatchError,
    Notify,
    PathSummary,
    Pipeline,
    Schema,
    SchemaError,
    Scope,
    UsageError,
    Worker,
    execute,
)
from tokenring.engine.graph.graph import Graph
from tokenring.engine.graph.location import Source, Target

PAIR = Schema(key="int64", amount="float64")


def _declare(scope: Scope, **changes: Any) -> None:
    """A small dataflow, with one thing changed."""
    how: dict[str, Any] = {
        "name": "pass",
        "schema": PAIR,
        "pact": Exchange("key"),
        "notify": Notify.ALWAYS,
        "summary": PathSummary(0),
        "probe": True,
        "extra": False,
    } | changes
    _, stream = scope.new_input(how["schema"])
    builder = scope.operator(how["name"], how["notify"])
    builder.input(stream, how["pact"])
    output = builder.output(VALUE, {0: how["summary"]})
    builder.build(lambda context, token: token.drop() or (lambda messages, output: None))
    if how["probe"]:
        output.probe()
    if how["extra"]:
        output.sink("extra", Recorder().sink)


def _digest(**changes: Any) -> int:
    scope = Scope("digest")
    _declare(scope, **changes)
    return scope.graph.digest()


def test_digests_see_every_difference() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"name": "other"},
        {"schema": Schema(key="int64", amount="int64")},
        {"schema": Schema("key other")},
        {"pact": Pipeline()},
        {"pact": Broadcast()},
        {"pact": Exchange("key", ("key",))},
        {"notify": Notify.NEVER},
        {"summary": PathSummary(1)},
        {"summary": None},
        {"probe": False},
        {"extra": True},
    ]
    digests = [_digest(**change) for change in changes]
    assert len(set(digests)) == len(changes)
    assert _digest() == _digest()
    assert all(0 <= digest < 2**63 for digest in digests)


def test_ports_are_numbered_and_described() -> None:
    scope = Scope("numbers")
    _declare(scope, extra=True)
    graph = scope.graph
    assert graph.locations() == {Source(0, 0): 0, Target(1, 0): 1, Source(1, 0): 2, Target(2, 0): 3}
    assert graph.edges() == [(Source(0, 0), Target(1, 0)), (Source(1, 0), Target(2, 0))]
    assert graph.describe(Target(1, 0)) == "'pass' input 0"
    assert graph.summary_text() == "input, pass, extra"
    assert (2, 4, PathSummary(0)) in graph.links(), "a probe is a location after all ports"


def _raises(declare: Callable[[Worker, Scope], Any], kind: type[Exception], said: Fact) -> None:
    with simulated(2) as group, raises(kind, said):
        build(group, declare)


def _consume(pact: Any) -> Callable[[Worker, Scope], Any]:
    return lambda worker, scope: scope.new_input(PAIR)[1].sink("consume", Recorder().sink, pact)


@pytest.mark.parametrize(
    ("pact", "kind", "said"),
    [
        (Exchange("nokey"), SchemaError, ("operator 'consume'", "'nokey'", "key, amount", "did you mean 'key'")),
        (Exchange(("key", "what")), SchemaError, ("operator 'consume'", "'what'", "columns key, amount")),
        (Exchange("key", ("amount",)), SchemaError, ("operator 'consume'", "'key'", "columns amount")),
        (Broadcast(("what",)), SchemaError, ("operator 'consume'", "'what'", "key, amount")),
        (
            "exchange",
            GraphError,
            ("operator 'consume'", "Pipeline()", "Exchange(key)", "Broadcast()", "Route(to)", "not 'exchange'"),
        ),
    ],
)
def test_pacts_that_do_not_fit(pact: Any, kind: type[Exception], said: Fact) -> None:
    _raises(_consume(pact), kind, said)


def test_an_operator_that_was_never_built() -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        scope.operator("half").input(scope.new_input(VALUE)[1])

    with raises(GraphError, "operator 'half'", "'input' output 0", "scope.feedback()"):
        _raises_through(declare)


@pytest.mark.parametrize("way", ["build", "build_compiled", "input", "output"])
def test_an_operator_is_built_once_and_last(way: str) -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(VALUE)
        builder = scope.operator("whole")
        builder.input(stream)
        builder.build(Recorder().sink)
        getattr(builder, way)(stream if way == "input" else VALUE if way == "output" else Recorder().sink)

    with raises(GraphError, "operator 'whole'", way, "after it was built", "once"):
        _raises_through(declare)


def _raises_through(declare: Callable[[Worker, Scope], Any]) -> None:
    with simulated() as group:
        build(group, declare)


def test_an_empty_dataflow() -> None:
    with raises(GraphError, "dataflow 'test'", "input", "source"):
        _raises_through(lambda worker, scope: None)


def test_a_stream_of_another_dataflow() -> None:
    with simulated() as group:
        ((_, foreign),) = build(group, lambda worker, scope: scope.new_input(VALUE), "first")
        with raises(GraphError, "operator 'lost'", "dataflow 'first'", "another dataflow"):
            build(group, lambda worker, scope: scope.operator("lost").input(foreign), "second")
        with raises(GraphError, "dataflow 'first'", "'third'"):
            build(group, lambda worker, scope: scope.probe(foreign), "third")


def test_a_dataflow_is_closed_after_its_block() -> None:
    with simulated() as group:
        ((scope, stream),) = build(group, lambda worker, scope: (scope, scope.new_input(VALUE)[1]))
        for late in (
            lambda: scope.new_input(VALUE),
            lambda: stream.probe(),
            lambda: stream.sink("late", Recorder().sink),
            lambda: scope.region("late").__enter__(),
        ):
            with raises(GraphError, "dataflow 'test'", "already built", "worker.dataflow()"):
                late()


def test_cycles_cannot_be_declared() -> None:
    def own(worker: Worker, scope: Scope) -> None:
        builder = scope.operator("selfish")
        builder.input(builder.output(VALUE))

    def later(worker: Worker, scope: Scope) -> None:
        first, second = scope.operator("first"), scope.operator("second")
        first.input(second.output(VALUE))

    for declare, said in ((own, "operator 'selfish'"), (later, ("operator 'first'", "'second' output 0"))):
        with raises(GraphError, said, "cycle", "scope.feedback()"):
            _raises_through(declare)


def test_a_cycle_in_a_graph_is_named() -> None:
    scope = Scope("cyclic")
    _declare(scope)
    graph: Graph = scope.graph
    graph.operators[1].inputs[0].origin = Source(1, 0)
    with raises(GraphError, "'pass' input 0 -> 'pass' output 0 -> 'pass' input 0"):
        graph.validate()


def test_an_unknown_notify_policy() -> None:
    with raises(GraphError, "operator 'x'", "never, if_token, always", "'sometimes'"):
        _raises_through(lambda worker, scope: scope.operator("x", "sometimes"))  # type: ignore[arg-type]


def test_columns_that_no_queue_can_carry() -> None:
    wide = Schema(" ".join(f"c{number}" for number in range(16)))

    def declare(worker: Worker, scope: Scope) -> None:
        scope.new_input(wide)[1].sink("wide", Recorder().sink, Exchange("c0"))

    _raises(
        declare,
        ConfigError,
        ("operator 'wide' input 0", "16 columns", "4096 bytes", "8192 bytes", "Config.queue_bytes"),
    )
    with simulated(2, queue_bytes=8192) as group:
        build(group, declare)


# Agreement between workers, in real groups


def _different(worker: Worker) -> None:
    with worker.dataflow("different") as scope:
        _declare(scope, name=f"operator of {worker.index % 2}")


def _missing(worker: Worker) -> None:
    with worker.dataflow("common") as scope:
        _declare(scope)
    if worker.index == 0:
        with worker.dataflow("private") as scope:
            _declare(scope)


def _missing_barrier(worker: Worker) -> None:
    if worker.index == 1:
        worker.barrier()


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize(
    ("program", "said"),
    [
        (_different, ("worker 0", {"worker 1", "worker 2"}, "number 2", "operator of 0", "operator of 1")),
        (_missing, ("worker 0", "dataflow number 2", {"worker 1's program", "worker 2's program"})),
        (_missing_barrier, ("worker 1", "barrier", {"worker 0's program", "worker 2's program"})),
    ],
)
def test_workers_that_disagree(program: Callable[[Worker], None], said: Fact, workers: int) -> None:
    with raises(GraphMismatchError, said):
        execute(program, workers=workers)


def test_a_usage_error_in_a_program_keeps_its_type() -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow("bad") as scope:
            _consume(Exchange("nokey"))(worker, scope)

    with raises(
        SchemaError, {"worker 0", "worker 1"}, "operator 'consume'", "key 'nokey'", "did you mean 'key'"
    ) as caught:
        execute(program, workers=2)
    assert isinstance(caught.value, UsageError)
    assert any("in program" in note for note in caught.value.__notes__)
