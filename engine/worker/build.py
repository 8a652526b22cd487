"""Turns a declared dataflow into a running one: numbers locations, compiles paths, makes channels, hands out initial
tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

from tokenring.engine.arguments import is_only_made
from tokenring.engine.data import (
    Channel,
    CheckedChannel,
    Edge,
    FarSignal,
    FeedbackChannel,
    Inbox,
    InputPort,
    NearSignal,
    NestedInputPort,
    OutputPort,
    RelayChannel,
    RemoteChannel,
    SelectChannel,
    TextRows,
    WordRows,
    compile_stages,
    in_words,
    needs_queues,
    needs_text_rows,
)
from tokenring.engine.declare import Scope
from tokenring.engine.errors import (
    GraphError,
    GroupStopped,
    KernelError,
    MemoryBudgetError,
    OperatorError,
    TokenRingError,
)
from tokenring.engine.explain import Dataflow, stop
from tokenring.engine.graph import AtFirstMessage, Compiled, Notify, OperatorSpec, Route, Source, require_usable, shared
from tokenring.engine.running import OperatorContext, RunningDataflow, RunningOperator, refuse_step
from tokenring.engine.times import first_time
from tokenring.engine.tokens import GRANTED, Token

if TYPE_CHECKING:
    from tokenring.engine.worker.worker import Worker


def begin(worker: "Worker", scope: Scope) -> None:
    """Let what was declared run on this worker, once all have declared the same, and before any may send. An error
    that leaves it half built ends the worker.
    """
    scope.close()
    scope.graph.validate()
    forgotten = worker.agreement.declare(scope.graph, worker.dataflows.forgotten(worker.tracker))
    try:
        built = build_dataflow(worker, scope, forgotten)
        scope.begin(Dataflow(built, worker.inspection, worker.schedule, partial(_meet_to_cancel, worker, built)))
    except BaseException as error:
        worker.fail(error)
        raise
    worker.agreement.built(scope.graph.name)  # nobody sends before all can receive


def _meet_to_cancel(worker: "Worker", dataflow: RunningDataflow) -> None:
    """A barrier before what a worker's instance of a dataflow holds is let go. GraphMismatchError if another waits for
    the dataflow's end meanwhile."""
    if worker.is_stepping or get_ident() != worker.thread:
        refuse_step(worker)
    worker.agreement.greatest(0, f"cancel dataflow {dataflow.name!r}", lambda: not dataflow.done)


def build_dataflow(worker: "Worker", scope: Scope, forgotten: int) -> RunningDataflow:
    """Instantiate the scope's graph on this worker; every worker does the same, in the same order, so all numbers
    agree. forgotten: the ending up to which every worker has forgotten what has ended (`Dataflows.reuse`).
    """
    graph, tracker = scope.graph, worker.tracker
    dataflow = RunningDataflow(worker.dataflows, graph.name)
    dataflow.when_failed = scope.when_failed
    worker.dataflows.reuse(tracker, forgotten)
    depths = graph.depths()
    dataflow.numbers = tracker.tables.begin_graph(1 + len(graph.operators) + len(scope.probes), len(depths))
    dataflow.number = tracker.add_operator(Notify.ALWAYS)
    running = dataflow.operators
    for spec in graph.operators:
        number = tracker.add_operator(spec.notify)
        operator = RunningOperator(worker.runtime, spec.name, number, spec.notify)
        operator.is_relay = spec.relay is not None
        kind = InputPort if spec.input_depth == 1 else NestedInputPort
        inboxes = [
            Inbox(tracker.add_location(number, is_input=True), operator, worker.schedule) for _ in spec.inputs
        ]
        if spec.is_compiled:
            worker.compiled.make_rows(operator, spec, inboxes)
        operator.inputs = tuple(
            [
                kind(index, inbox, port.schema, spec.input_depth)
                for index, (inbox, port) in enumerate(zip(inboxes, spec.inputs, strict=True))
            ]
        )
        operator.outputs = tuple(
            [
                OutputPort(operator, index, tracker.add_location(number), schema, spec.depth)
                for index, schema in enumerate(spec.outputs)
            ]
        )
        operator.paths = spec.paths
        same_time = operator.paths.same_time_inputs(operator.inputs, len(operator.outputs))
        for output, inputs in zip(operator.outputs, same_time, strict=True):
            output.same_time_inputs = inputs
        running.append(operator)
    if scope.watched:
        locations = graph.locations()
        for watched in scope.watched:
            watched.attach(worker.world, graph, locations, dataflow.numbers.first_location)
    for probe in scope.probes:
        number = tracker.add_operator(Notify.IF_TOKEN if probe.is_quiet else Notify.ALWAYS)
        probe.attach(tracker, number, tracker.add_location(number, is_input=True))
    first_channel = worker.plane.channels_made
    queued = _connect_channels(worker, scope, dataflow)
    for operator in running:
        if operator.compiled >= 0:
            worker.compiled.connect(operator)
    _connect_signals(worker, scope, dataflow, queued)
    dataflow.channels = range(first_channel, worker.plane.channels_made)
    for number in dataflow.channels:
        worker.compiled.deliver(number, worker.plane.channels[number])
    dataflow.probes = scope.probes
    dataflow.inputs = [spec.manual for spec in graph.operators if spec.manual is not None]
    worker.dataflows.add(dataflow)
    _compile_paths(worker, scope, dataflow, depths)
    for operator in running:
        if operator.compiled >= 0:
            worker.compiled.compile_paths(operator)
    for operator, spec in zip(running, scope.graph.operators, strict=True):
        if spec.relay is None:
            # The initial tokens of all workers are common knowledge (docs/concurrency.md, A5).
            for output in operator.outputs:
                tracker.change(output.location, first_time(spec.depth), worker.peers)
    tracker.propagate()
    _construct(worker, scope, dataflow)
    worker.dataflows.built(dataflow)
    return dataflow


def _connect_channels(
    worker: "Worker", scope: Scope, dataflow: RunningDataflow
) -> dict[Source, list[RemoteChannel]]:
    """Returns those that are queued, by the output that feeds them, whatever stages lie between."""
    stages, running = scope.graph.stages, dataflow.operators
    queued: dict[Source, list[RemoteChannel]] = {}
    runtime = worker.runtime
    roots, run_of = compile_stages(stages, worker.index, dataflow.number)
    for source, run in roots:
        running[source.operator].outputs[source.port].channels.append(run)
    for operator, spec in zip(running, scope.graph.operators, strict=True):
        for port, declared in zip(operator.inputs, spec.inputs, strict=True):
            origin = running[declared.origin.operator].outputs[declared.origin.port]
            stage = declared.stage
            carried = origin.schema if stage is None else stage.schema
            channel: Edge
            if spec.relay is not None:
                beyond = operator.outputs[0]
                channel = border = RelayChannel(spec.relay, beyond.channels, beyond.location)
                if spec.depth == spec.input_depth:
                    channel = FeedbackChannel(border, worker.turns.going_round)
            elif needs_queues(declared.pact, worker.peers):
                carrier: TextRows | WordRows
                if needs_text_rows(port.schema, declared.pact):
                    carrier = TextRows(runtime.plane, port.schema, declared.pact, worker.peers, port.describe)
                else:
                    carrier = WordRows(runtime.plane, carried, port.schema, declared.pact, port.describe)
                remote = RemoteChannel(runtime, origin.location, port.inbox, port.schema, port.depth, carrier)
                queued.setdefault(declared.origin, []).append(remote)
                channel = remote
            elif isinstance(declared.pact, Route):
                channel = CheckedChannel(
                    SelectChannel(Channel(runtime.log, port.inbox), port.schema), declared.pact, port.describe
                )
            elif port.schema != carried:
                channel = SelectChannel(Channel(runtime.log, port.inbox), port.schema)
            else:
                channel = Channel(runtime.log, port.inbox)
            if stage is None:
                origin.channels.append(channel)
            else:
                run_of[stage.number].channels.append(channel)
    stages.clear()  # what they were compiled into is all that is needed; there may be a million
    return queued


def _connect_signals(
    worker: "Worker", scope: Scope, dataflow: RunningDataflow, queued: Mapping[Source, Sequence[RemoteChannel]]
) -> None:
    """queued: the channels that rows take, by output."""
    runtime, running = worker.runtime, dataflow.operators
    for operator, spec in zip(running, scope.graph.operators, strict=True):
        for source, signal in spec.signals:
            end: NearSignal | FarSignal
            if signal.everywhere and worker.peers > 1:
                sender = running[source.operator]
                behind = -1 if sender.compiled < 0 else worker.world.output(sender.compiled, source.port)
                end = FarSignal(runtime, queued.get(source, ()), behind, operator, worker.flush)
            else:
                end = NearSignal(runtime, operator)
            signal.attach(end.send, end.received, end.row)
            dataflow.signals.append(end)


def _compile_paths(worker: "Worker", scope: Scope, dataflow: RunningDataflow, depths: list[int]) -> None:
    reachability = shared(scope.graph.links(), depths)
    first = dataflow.numbers.first_location
    ports = sum(len(spec.inputs) + len(spec.outputs) for spec in scope.graph.operators)
    for _ in range(ports + len(scope.probes), len(depths)):
        worker.tracker.add_location(dataflow.number)  # a hub
    dataflow.graph = worker.tracker.add_graph(first, reachability, depths, dataflow.number)


def _construct(worker: "Worker", scope: Scope, dataflow: RunningDataflow) -> None:
    """Call the constructors. Where one raises that is to end the dataflow alone, no other is called: the dataflow is
    there, with `failure` and all its tokens, and does nothing."""
    for operator, spec in zip(dataflow.operators, scope.graph.operators, strict=True):
        if spec.relay is not None:
            continue
        tokens = []
        for output in operator.outputs:
            output.held += 1
            token = Token(output, first_time(spec.depth), 1, GRANTED)
            if spec.manual is not None:
                token.made_at(*spec.manual.declared)
            else:
                token.made_at(getattr(spec.constructor, "__code__", None))
            tokens.append(token)
            del token
        if spec.manual is not None:
            spec.manual.attach(operator.outputs[0], tokens[0], worker, worker.room)
        elif not dataflow.failure:
            try:
                _begin_operator(worker, operator, spec, scope.graph.name, tokens)
            except TokenRingError as error:
                if dataflow.when_failed is None or isinstance(error, MemoryBudgetError | GroupStopped):
                    raise
                dataflow.failure = f"the constructor of operator {operator.name!r} on worker {worker.index}: {error}"
                if isinstance(error, OperatorError):  # which says so
                    dataflow.failure = str(error)
        if dataflow.failure:
            for token in tokens:
                if token.live:
                    token.drop()
        del tokens
        if operator.counts_tokens:
            worker.tracker.set_holding(operator.number, operator.held)
    if dataflow.failure:
        stop(dataflow, worker.runtime, worker.schedule)


def _begin_operator(
    worker: "Worker", operator: RunningOperator, spec: OperatorSpec, dataflow: str, tokens: list[Token]
) -> None:
    assert spec.constructor is not None
    logic = _logic(worker, operator, spec.constructor, tokens)
    if spec.is_compiled:
        worker.compiled.add(operator, dataflow, logic, tokens)
    else:
        operator.set_logic(logic)
    worker.schedule.make_due(operator)


def _logic(
    worker: "Worker", operator: RunningOperator, constructor: Callable[..., Any], tokens: list[Token]
) -> Any:
    """Run an operator's constructor; what it raises, or a logic that is none, names the operator."""
    where = f"the constructor of operator {operator.name!r} on worker {worker.index}"
    try:
        logic = constructor(OperatorContext(operator, worker), *(tokens if operator.compiled < 0 else ()))
        if isinstance(logic, AtFirstMessage) and worker.compiled.has_few:
            logic = logic.make()
        _require_logic(where, operator, logic)
    except BaseException as error:
        for token in tokens:
            if token.live:
                token.drop()  # it is not lost, and nothing is to be said of it
        if isinstance(error, TokenRingError | KeyboardInterrupt) and not isinstance(error, KernelError):
            raise
        call = f"it is called with the context and a token for each of its {len(tokens)} output(s)"
        raise OperatorError(f"{where} raised {in_words(error, call)}") from error
    return logic


def _require_logic(where: str, operator: RunningOperator, logic: Any) -> None:
    if operator.compiled >= 0:
        if isinstance(logic, Compiled):
            require_usable(logic, operator.name, len(operator.outputs))
        elif not isinstance(logic, AtFirstMessage):
            raise GraphError(f"{where} returned {logic!r}; it must return a Compiled, as it was declared compiled")
    elif not callable(logic):
        raise GraphError(f"{where} returned {logic!r}; it must return the logic, a function of the ports")
    elif is_only_made(logic):
        raise GraphError(
            f"{where} returned {logic!r}, which makes a generator or a coroutine, whose body would never run; its "
            f"logic is a plain function, without yield and async: it is called whenever there is something to do"
        )
