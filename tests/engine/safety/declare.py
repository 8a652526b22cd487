"""A planned dataflow, declared on one worker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.engine.safety.behaviour import SCHEMA
from tests.engine.safety.plan import OperatorPlan, Plan, Port
from tokenring.engine import Feedback, InputHandle, Loop, PathSummary, Scope, Stream

if TYPE_CHECKING:
    from tests.engine.safety.behaviour import Behaviour


def declare(
    root: Scope, plan: Plan, behave: Callable[[int], Behaviour]
) -> tuple[dict[Port, Stream], list[tuple[int, InputHandle]]]:
    """Declare all of the plan's operators, whose code is `behave(number).construct`; returns the streams, and the
    manual inputs with their numbers."""
    streams: dict[Port, Stream] = {}
    handles: list[tuple[int, InputHandle]] = []
    scopes: dict[int, Scope] = {0: root}
    ways_around: list[tuple[Feedback[Stream], Port]] = []
    with ExitStack() as loops:
        for number, operator in enumerate(plan.operators):
            output: Port = ("out", number, 0)
            if operator.scope not in scopes:
                outer = scopes[plan.parents[operator.scope]]
                scopes[operator.scope] = loops.enter_context(outer.loop(f"loop {operator.scope}"))
            scope = scopes[operator.scope]
            if operator.kind == "input":
                handle, streams[output] = scope.new_input(SCHEMA, f"input {number}")
                handles.append((number, handle))
            elif operator.kind == "feedback":
                way = scope.feedback(SCHEMA, operator.increment)
                streams[output] = way.stream
                ways_around.append((way, operator.inputs[0][0]))
            elif operator.is_relay:
                loop = scopes[operator.inner]
                assert isinstance(loop, Loop)
                cross = loop.enter if operator.kind == "enter" else loop.leave
                streams[output] = cross(streams[operator.inputs[0][0]])
            else:
                _declare_operator(scope, number, operator, streams, behave(number))
        for way, origin in ways_around:
            way.connect(streams[origin])
    return streams, handles


def _declare_operator(
    scope: Scope, number: int, plan: OperatorPlan, streams: dict[Port, Stream], behaviour: Behaviour
) -> None:
    builder = scope.operator(f"operator {number}", plan.notify)
    for origin, pact in plan.inputs:
        builder.input(streams[origin], pact)
    if plan.is_compiled:
        for output in range(plan.outputs):
            streams["out", number, output] = builder.output(SCHEMA)
        builder.build_compiled(behaviour.compiled, loops=True)
        return
    for output in range(plan.outputs):
        summaries = {
            i: None if delays is None else PathSummary(*delays)
            for (i, o), delays in plan.summaries.items()
            if o == output
        }
        streams["out", number, output] = builder.output(SCHEMA, summaries)
    builder.build(behaviour.construct)
