"""Turns a declared dataflow into a running one: numbers locations, compiles paths, makes channels, hands out initial
tokens.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.channel import Channel, RemoteChannel, SelectChannel, needs_queues
from engine.errors import GraphError, OperatorError, TokenRingError
from engine.location import Notify, Source, Target
from engine.operate import Constructor
from engine.operator import OperatorContext, RunningOperator
from engine.ports import InputPort, OutputPort
from engine.reachability import Link, Reachability
from engine.scope import Scope
from engine.stage_run import compile_stages
from engine.timestamp import IDENTITY
from engine.tokens import Token

if TYPE_CHECKING:
    from engine.worker import Worker


def build_dataflow(worker: "Worker", scope: Scope) -> None:
    """Instantiate the scope's graph on this worker; every worker does the same, in the same order, so all numbers
    agree.
    """
    graph, tracker = scope.graph, worker.tracker
    first_location = tracker.locations_used
    running: list[RunningOperator] = []
    for spec in graph.operators:
        number = tracker.add_operator(spec.notify)
        operator = RunningOperator(worker, spec.name, len(worker.operators), number, spec.notify)
        for index, port in enumerate(spec.inputs):
            operator.inputs.append(
                InputPort(operator, index, tracker.add_location(number), port.schema, tracker, worker.log)
            )
        for index, schema in enumerate(spec.outputs):
            operator.outputs.append(OutputPort(operator, index, tracker.add_location(number), schema, worker.log))
        for index, input_port in enumerate(operator.inputs):
            input_port.summaries = [spec.summary(index, output) for output in range(len(spec.outputs))]
        for index, output_port in enumerate(operator.outputs):
            output_port.same_time_inputs = tuple(port for port in operator.inputs if port.summaries[index] == IDENTITY)
        worker.operators.append(operator)
        worker.by_number[number] = operator
        running.append(operator)
    probes: list[int] = []
    for probe in scope.probes:
        number = tracker.add_operator(Notify.ALWAYS)
        worker.by_number[number] = probe
        probes.append(tracker.add_location(number))
        probe.attach(tracker, probes[-1])
    _connect_channels(worker, scope, running)
    links = _compile_paths(worker, scope, first_location)
    for operator in running:  # the initial tokens of all workers are common knowledge (SAFETY.md, A5)
        for output in operator.outputs:
            tracker.change(output.location, 0, worker.peers)
    tracker.propagate()
    worker.progress.watch(worker, running, probes, links)
    _construct(worker, scope, running)


def _connect_channels(worker: "Worker", scope: Scope, running: list[RunningOperator]) -> None:
    stages = scope.graph.stages
    queued: dict[Source, list[RemoteChannel]] = {}  # by the output that feeds them, whatever stages lie between
    for source, run in compile_stages(stages, worker.index):
        running[source.operator].outputs[source.port].channels.append(run)
    for operator, spec in zip(running, scope.graph.operators, strict=True):
        for port, declared in zip(operator.inputs, spec.inputs, strict=True):
            origin = running[declared.origin.operator].outputs[declared.origin.port]
            stage = declared.stage
            carried = origin.schema if stage is None else stage.schema
            channel: Channel
            if needs_queues(declared.pact, worker.peers):
                number = len(worker.plane.channels)
                remote = RemoteChannel(worker, origin, carried, port, worker.plane, number, declared.pact)
                worker.plane.channels.append(remote)
                queued.setdefault(declared.origin, []).append(remote)
                channel = remote
            elif port.schema != carried:
                channel = SelectChannel(worker, port)
            else:
                channel = Channel(worker, port)
            if stage is None:
                origin.channels.append(channel)
            else:
                assert stage.run is not None
                stage.run.channels.append(channel)
    stages.clear()  # what they were compiled into is all that is needed; there may be a million
    for operator, spec in zip(running, scope.graph.operators, strict=True):
        for source, signal in spec.signals:
            signal.attach(worker, tuple(queued.get(source, ())), operator)


def _compile_paths(worker: "Worker", scope: Scope, first_location: int) -> list[Link]:
    graph = scope.graph
    numbers = graph.locations()
    watched = {
        numbers[Target(index, port)] for index, spec in enumerate(graph.operators) for port in range(len(spec.inputs))
    }
    watched |= {len(numbers) + index for index in range(len(graph.taps))}
    links = [(origin + first_location, target + first_location, summary) for origin, target, summary in graph.links()]
    worker.tracker.connect(Reachability(links, sorted(first_location + location for location in watched)))
    return links


def _construct(worker: "Worker", scope: Scope, running: list[RunningOperator]) -> None:
    for operator, spec in zip(running, scope.graph.operators, strict=True):
        tokens = []
        for output in operator.outputs:
            output.held += 1
            token = Token(output, 0)
            token.made_at(getattr(spec.constructor, "__code__", None))
            tokens.append(token)
            del token
        if spec.manual is not None:
            spec.manual.attach(operator.outputs[0], tokens[0])
            worker.inputs.append(spec.manual)
        else:
            assert spec.constructor is not None
            operator.set_logic(_logic(operator, spec.constructor, tokens))
            worker.schedule(operator)
        del tokens
        if operator.counts_tokens:
            worker.tracker.set_holding(operator.number, operator.held)


def _logic(operator: RunningOperator, constructor: Constructor, tokens: list[Token]) -> Callable[..., None]:
    """Run an operator's constructor; what it raises, or a logic that is none, names the operator."""
    where = f"the constructor of operator {operator.name!r} on worker {operator.worker.index}"
    try:
        logic = constructor(OperatorContext(operator), *tokens)
    except TokenRingError:
        raise
    except Exception as error:
        raise OperatorError(f"{where} raised {type(error).__name__}: {error}") from error
    if not callable(logic):
        raise GraphError(f"{where} returned {logic!r}; it must return the logic, a function of the ports")
    return logic
