"""Watermarks, as Flink has them: marks travel in band with the data, and every operator forwards each.

A mark says that nothing before it follows on its stream. An operator keeps the latest mark of each input and sender,
acts when the least of them moves, and sends its own behind what it has sent. Tokens coordinate nothing: each output
holds one at time 0, where all messages are, until its last mark, so no frontier moves and no mark costs a progress
record. Marks are the engine's signals: rows of the same queues, behind the data and read after it. Not rows among the
data, since an exchange sends each row to one worker and a mark must go to all.

    X  an edge that exchanges broadcasts each mark to all workers: every hop costs (workers)^2 marks
    P  edges stay within their worker, and so do marks (the paper's 7.3: a bound that real dataflows do not reach)

The end of a stream is the mark COMPLETE. Marks that arrive together are looked at together, which is kind to them.
"""

from collections.abc import Callable, Sequence

from engine import (
    COMPLETE,
    MAX_TIME,
    Batch,
    GraphError,
    InputHandle,
    InputPort,
    Notify,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Pact,
    Pipeline,
    Schema,
    Scope,
    Signal,
    Stream,
    Time,
    TimeRegressionError,
    Token,
)
from operators.mechanisms.logic import Answer, Take, TimedLogic
from operators.mechanisms.mechanism import Constructor, Edge, Mechanism, Ports, Progress


class _Marks:
    """The mark of one output on one worker: the last one sent, and who listens."""

    __slots__ = ("listeners", "time")

    def __init__(self) -> None:
        self.time = 0
        self.listeners: list[Signal] = []

    def send(self, time: Time, where: str) -> None:
        """Send a later mark; the same one is not sent again."""
        if time < self.time or MAX_TIME < time != COMPLETE:
            raise TimeRegressionError(
                f"cannot move the watermark of {where} from {self.time} to {time}: watermarks only move to later "
                f"times, up to {MAX_TIME}"
            )
        if time > self.time:
            self.time = time
            for signal in self.listeners:
                signal.send(time)


class MarkOutlet:
    """A source's outlet: a token at time 0, and marks."""

    __slots__ = ("_marks", "_token", "_where")

    def __init__(self, context: OperatorContext, token: Token, marks: _Marks) -> None:
        self._where = f"{context!r}"
        self._token = token
        self._marks = marks

    @property
    def time(self) -> Time:
        """The last mark sent."""
        return self._marks.time

    @property
    def live(self) -> bool:
        """Whether it was not closed."""
        return self._token.live

    def send(self, output: OutputPort, batch: Batch) -> None:
        """One message; its rows' times are `time` or later."""
        output.give(self._token, batch)

    def advance(self, time: Time) -> None:
        """Send a mark."""
        self._marks.send(time, self._where)

    def close(self) -> None:
        """Send the last mark."""
        if self._token.live:
            self._marks.send(COMPLETE, self._where)
            self._token.drop()


class MarkedInput(InputHandle):
    """A manual input whose token stays at time 0 and whose advances are marks."""

    __slots__ = ("_marks", "_name")

    def __init__(self, schema: Schema, name: str, marks: _Marks) -> None:
        super().__init__(schema)
        self._name = name
        self._marks = marks

    @property
    def time(self) -> Time:
        """The last mark sent."""
        return max(super().time, self._marks.time)

    def advance_to(self, time: Time) -> None:
        """Send a mark."""
        if self.time <= time:  # asks whether it is open, too
            self._marks.send(time, f"input {self._name!r}")
            return
        raise TimeRegressionError(f"cannot advance input {self._name!r} from {self.time} back to {time}")

    def close(self) -> None:
        """Send the last mark (idempotent)."""
        if not self.closed:
            self._marks.send(COMPLETE, f"input {self._name!r}")
            super().close()


class MarkProgress:
    """How far a stream's marks have come on this worker."""

    def __init__(self) -> None:
        self.frontier: Time = 0
        self._listeners: list[Callable[[], None]] = []

    def less_than(self, time: Time) -> bool:
        """Whether a time before `time` may still appear."""
        return self.frontier < time

    def done(self) -> bool:
        """Whether nothing can appear any more."""
        return self.frontier == COMPLETE

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the frontier moves on this worker."""
        self._listeners.append(listener)

    def moved_to(self, mark: Time) -> None:
        """Note a mark and tell the listeners."""
        self.frontier = mark
        for listener in self._listeners:
            listener()


class Watermarks(Mechanism):
    """Flink's watermarks. `crosses`: whether edges may exchange rows, and marks then are broadcast."""

    def __init__(self, name: str, crosses: bool) -> None:
        self.name = name
        self._crosses = crosses
        self._marks: dict[tuple[Scope, object], _Marks] = {}  # by stream: its scope and place

    def source(
        self, scope: Scope, name: str, schemas: tuple[Schema, ...], constructor: Constructor, times: tuple[str, ...]
    ) -> tuple[Stream, ...]:
        """See Mechanism."""
        marks = [_Marks() for _ in schemas]

        def construct(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
            return constructor(
                context, *[MarkOutlet(context, token, each) for token, each in zip(tokens, marks, strict=True)]
            )

        streams = scope.source(name, schemas, construct)
        for stream, each in zip(streams, marks, strict=True):
            self._marks[scope, stream.source] = each
        return streams

    def new_input(self, scope: Scope, schema: Schema, time: str, name: str = "input") -> tuple[InputHandle, Stream]:
        """See Mechanism."""
        marks = _Marks()
        handle, stream = scope.new_input(schema, name, MarkedInput(schema, name, marks))
        self._marks[scope, stream.source] = marks
        return handle, stream

    def _listen(self, builder: OperatorBuilder, name: str, stream: Stream, everywhere: bool) -> Signal:
        marks = self._marks.get((stream.scope, stream.source))
        if marks is None:
            raise GraphError(
                f"operator {name!r}: {stream!r} carries no watermarks; make it with this mechanism's source, new_input "
                f"or operators"
            )
        signal = builder.listen(stream, everywhere)
        marks.listeners.append(signal)
        return signal

    def _input(self, builder: OperatorBuilder, name: str, stream: Stream, pact: Pact) -> Signal:
        """An input, and the signal of its marks."""
        everywhere = not isinstance(pact, Pipeline)
        if everywhere and not self._crosses:
            raise GraphError(
                f"operator {name!r} exchanges its input, which {self.name} cannot: its watermarks stay on their "
                f"worker; use the operator's local form, or watermarks-X"
            )
        signal = self._listen(builder, name, stream, everywhere)
        builder.input(stream, pact)
        return signal

    def timed(
        self, name: str, inputs: Sequence[Edge], schema: Schema, make: Callable[[], TimedLogic], notify: Notify
    ) -> Stream:
        """See Mechanism."""
        scope = inputs[0][0].scope
        builder = scope.operator(name, Notify.NEVER)  # messages and marks run it
        signals = [self._input(builder, name, stream, pact) for stream, pact in inputs]
        output = builder.output(schema)
        marks = self._marks[scope, output.source] = _Marks()

        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            operator = make()
            late = operator.late
            seen = 0
            inputs: tuple[tuple[Take, InputPort], ...] = ()
            port: OutputPort

            def give(time: Time, batch: Batch) -> None:
                port.give(token, batch)

            def logic(*ports: Ports) -> None:
                nonlocal seen, inputs, port
                if not inputs:  # the first call: ports are always the same
                    inputs, port = tuple(zip(operator.takes, ports[:-1], strict=True)), ports[-1]
                for take, rows in inputs:
                    for _, batch in rows:
                        take(batch)
                frontier = min([min(signal.received) for signal in signals])
                if frontier == seen:
                    return
                seen = frontier
                operator.advance(frontier)
                pending = operator.least()
                if pending + late <= frontier:
                    pending = operator.emit(frontier - late, give)
                mark = min(frontier, pending)
                marks.send(mark, name)
                if mark == COMPLETE:
                    token.drop()

            return logic

        builder.build(construct)
        return output

    def respond(
        self, name: str, edge: Edge, schema: Schema, make: Callable[[], Answer], notify: Notify = Notify.NEVER
    ) -> Stream:
        """See Mechanism."""
        scope = edge[0].scope
        builder = scope.operator(name, Notify.NEVER)
        signal = self._input(builder, name, *edge)
        output = builder.output(schema)
        marks = self._marks[scope, output.source] = _Marks()

        def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
            answer = make()

            def logic(rows: InputPort, output: OutputPort) -> None:
                for reference, batch in rows:
                    output.give(reference, answer(batch))
                mark = min(signal.received)
                if mark > marks.time:
                    marks.send(mark, name)
                    if mark == COMPLETE:
                        token.drop()

            return logic

        builder.build(construct)
        return output

    def probe(self, stream: Stream) -> Progress:
        """The least mark of the stream over all workers, or of this worker where marks are local."""
        builder = stream.scope.operator("watermark", Notify.NEVER)
        signal = self._listen(builder, "watermark", stream, self._crosses)
        builder.output(Schema("mark"))  # for its token, which keeps the run alive until the last mark has come
        progress = MarkProgress()

        def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
            def logic(_: OutputPort) -> None:
                mark = min(signal.received)
                if mark > progress.frontier:
                    if mark == COMPLETE:
                        token.drop()
                    progress.moved_to(mark)

            return logic

        builder.build(construct)
        return progress
