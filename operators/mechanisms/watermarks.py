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
from typing import Any

import numpy as np

from tokenring.engine import (
    COMPLETE,
    AnyStream,
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
    Token,
)
from tokenring.engine.compiled import Compiled, address_of
from tokenring.operators.mechanisms.drivers import CompiledLogic
from tokenring.operators.mechanisms.interface import (
    Constructor,
    Edge,
    Mechanism,
    Ports,
    Progress,
    require_one_form,
    require_times,
    taken_by,
)
from tokenring.operators.mechanisms.logic import Answer, Take, TimedLogic
from tokenring.operators.mechanisms.marks import (
    MarkedInput,
    MarkOutlet,
    MarkProgress,
    Marks,
    drive_by_marks,
    forwarded,
    marked,
    rows_of_signals,
    watched,
)
from tokenring.operators.mechanisms.outlets import new_outlets
from tokenring.operators.migrate import Table
from tokenring.operators.time import Due, TimesOfRows, give_split, position_of, split_outputs


class Watermarks(Mechanism):
    """Flink's watermarks. `crosses`: whether edges may exchange rows, and marks then are broadcast."""

    def __init__(self, name: str, crosses: bool) -> None:
        self.name = name
        self._crosses = crosses
        self._marks: dict[tuple[Scope, object], Marks] = {}  # by stream: its scope and place

    def source(
        self,
        scope: Scope,
        name: str,
        schemas: tuple[Schema, ...],
        constructor: Constructor | None,
        times: tuple[str, ...],
        each_time: bool = False,
        compiled: Callable[[OperatorContext, np.ndarray], Compiled] | None = None,
        other_times: bool = False,
    ) -> tuple[Stream, ...]:
        """See Mechanism."""
        require_one_form(name, constructor, compiled)
        require_times(name, schemas, times)
        columns = times if each_time else ("",) * len(times)
        marks = [Marks() for _ in schemas]
        if compiled is not None:
            builder = scope.operator(name, Notify.NEVER)
            streams = tuple([builder.output(schema) for schema in schemas])

            def construct_compiled(context: OperatorContext) -> Compiled:
                outlets = new_outlets(schemas, columns)
                signals = [rows_of_signals(each.listeners) for each in marks]
                for outlet, rows in zip(outlets, signals, strict=True):
                    outlet["has_marks"] = 1
                    outlet["mark"]["signals"], outlet["mark"]["count"] = address_of(rows), len(rows)
                made = compiled(context, outlets)
                made.owners = (*made.owners, signals)
                return made

            builder.build_compiled(construct_compiled, texts=True)
        else:

            def construct(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
                assert constructor is not None, "else it is compiled"
                outlets = zip(tokens, marks, columns, strict=True)
                return constructor(context, *[MarkOutlet(f"{context!r}", *of_one) for of_one in outlets])

            streams = scope.source(name, schemas, construct)
        if any(times) or other_times:
            self._rows_have_times(streams[0])
        for stream, each in zip(streams, marks, strict=True):
            self._marks[scope, stream.source] = each
        return streams

    def new_input(self, scope: Scope, schema: Schema, time: str, name: str = "input") -> tuple[InputHandle, Stream]:
        """See Mechanism."""
        position_of(f"input {name!r}", schema, time)
        marks = Marks()
        handle, stream = scope.new_input(schema, name, MarkedInput(schema, name, marks))
        self._marks[scope, stream.source] = marks
        self._rows_have_times(stream)
        return handle, stream

    def _rows_have_times(self, stream: Stream) -> None:
        stream.scope.kept(TimesOfRows)[stream.source.operator] = self.name

    def _listen(self, builder: OperatorBuilder[Any], name: str, stream: Stream, everywhere: bool) -> Signal:
        marks = self._marks.get((stream.scope, stream.source))
        if marks is None:
            raise GraphError(
                f"operator {name!r}: {stream!r} carries no watermarks, as what made it forwards none; make it with a "
                f"source of the library, mechanism_of(scope).new_input(scope, schema, time) or what forwards them "
                f"(windows, running aggregates, filters and the like), or coordinate by tokens"
            )
        signal = builder.listen(stream, everywhere)
        marks.listeners.append(signal)
        return signal

    def _input(self, builder: OperatorBuilder[Any], name: str, stream: Stream, pact: Pact) -> Signal:
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
        self,
        name: str,
        inputs: Sequence[Edge[AnyStream]],
        schema: Schema,
        make: Callable[[], TimedLogic] | None,
        notify: Notify,
        compiled: Callable[[], CompiledLogic] | None = None,
        moves: Sequence[Table] | None = None,
    ) -> AnyStream:
        """See Mechanism."""
        require_one_form(name, make, compiled)
        scope = inputs[0][0].scope
        builder = inputs[0][0].operator(name, Notify.NEVER)  # messages and marks run it
        signals = [self._input(builder, name, stream, pact) for stream, pact in inputs]
        output = builder.output(schema)
        marks = self._marks[scope, output.source] = Marks()
        if compiled is not None:
            builder.build_compiled(
                lambda context: drive_by_marks(marked, compiled(), signals, marks.listeners), texts=True
            )
            return output

        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            assert make is not None, "else it is compiled"
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
                    inputs, port = taken_by(operator, ports[:-1]), ports[-1]
                for take, rows in inputs:
                    for _, batch in rows:
                        take(batch)
                frontier = min([min(signal.received) for signal in signals])
                if frontier == seen:
                    return
                seen = frontier
                operator.advance(frontier)
                if operator.least() + late <= frontier:
                    operator.emit(frontier - late, give)
                marks.send(frontier, name)  # what is pending is not before it
                if frontier == COMPLETE:
                    token.drop()

            return logic

        builder.build(construct)
        return output

    def respond(
        self,
        name: str,
        edge: Edge[AnyStream],
        schema: Schema,
        make: Callable[[], Answer] | None,
        notify: Notify = Notify.NEVER,
        remembers: bool = True,
        compiled: Callable[[], CompiledLogic] | None = None,
        moves: Sequence[Table] | None = None,
    ) -> AnyStream:
        """See Mechanism."""
        require_one_form(name, make, compiled)
        scope = edge[0].scope
        builder = edge[0].operator(name, Notify.NEVER)
        signal = self._input(builder, name, *edge)
        output = builder.output(schema)
        marks = self._marks[scope, output.source] = Marks()
        if compiled is not None:
            builder.build_compiled(
                lambda context: drive_by_marks(forwarded, compiled(), [signal], marks.listeners), texts=True
            )
            return output

        def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
            assert make is not None, "else it is compiled"
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

    def split_late(self, stream: AnyStream, name: str, due: Due, time: str) -> tuple[AnyStream, AnyStream]:
        """See Mechanism: late is what is due by the mark that was forwarded last; all messages are at time 0."""
        name = f"{name}.late"
        builder = stream.operator(name, Notify.NEVER)
        signal = self._input(builder, name, stream, Pipeline())
        outputs = split_outputs(builder, stream)
        marks = [Marks(), Marks()]
        self._marks |= {(stream.scope, output.source): each for output, each in zip(outputs, marks, strict=True)}

        def construct(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
            def logic(rows: InputPort, in_time: OutputPort, late: OutputPort) -> None:
                for reference, batch in rows:
                    give_split(reference, batch, due(batch.words(time)) <= marks[0].time, in_time, late)
                mark = min(signal.received)
                if mark > marks[0].time:
                    for each in marks:
                        each.send(mark, name)
                    if mark == COMPLETE:
                        for token in tokens:
                            token.drop()

            return logic

        builder.build(construct)
        return outputs

    def probe(self, stream: Stream) -> Progress:
        """The least mark of the stream over all workers, or of this worker where marks are local."""
        builder = stream.scope.operator("watermark", Notify.NEVER)
        signal = self._listen(builder, "watermark", stream, self._crosses)
        builder.output(Schema("mark"))  # for its token, which keeps the run alive until the last mark has come
        progress = MarkProgress()

        def construct(context: OperatorContext) -> Compiled:
            progress.state.heard = signal.row
            return Compiled(watched, progress.state.words, (progress,), progress.moved)

        builder.build_compiled(construct)
        return progress
