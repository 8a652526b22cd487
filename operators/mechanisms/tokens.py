"""Tokens: an operator holds one, at the least time it may still send at, and retires whole intervals at once.

Nothing else coordinates (the paper's 5.2 and 6.2).
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tokenring.engine import (
    COMPLETE,
    MAX_TIME,
    AnyStream,
    Batch,
    GraphError,
    InputHandle,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    Scope,
    Stream,
    Time,
    TimeRegressionError,
    Token,
    TokenRef,
)
from tokenring.engine.compiled import AtFirstMessage, Compiled
from tokenring.operators.mechanisms.drivers import CompiledLogic, Driven, compile_with, respond, timed
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
from tokenring.operators.mechanisms.logic import Answer, Take, TimedLogic, in_order
from tokenring.operators.migrate import Table, at_first_message, is_by_times, saving_of, state_moves
from tokenring.operators.time import SENT_EARLIER, position_of, require_total_order


def late_rows(operator: str, time: Time, due: Time) -> TimeRegressionError:
    """What rows raise whose result had to be sent before their message's time."""
    return TimeRegressionError(
        f"operator {operator!r}: rows came in a message at time {time} although what they are part of was due "
        f"before it, at {due}. A message's time must not be later than its rows' own times: {SENT_EARLIER}; "
        f"windows, but those of joins, can allow lateness=..., and aggregates and joins give late rows a stream of "
        f"their own by late=True"
    )


class TokenOutlet:
    """A token as a source's outlet. column: of rows' own times, each of which is to be one message; "" for one message
    whatever their times."""

    __slots__ = ("_column", "_token", "advance")

    def __init__(self, token: Token, column: str) -> None:
        self._column = column
        self._token = token
        self.advance = token.downgrade  # not a method: it is called for every batch

    @property
    def time(self) -> Time:
        """The token's time."""
        return self._token.time

    @property
    def live(self) -> bool:
        """Whether the token was not dropped."""
        return self._token.live

    def clone(self) -> "TokenOutlet":
        """See Outlet."""
        return TokenOutlet(self._token.clone(), self._column)

    def send(self, output: OutputPort, batch: Batch, time: Time) -> None:
        """A message at that time, a lower bound of its rows' own, or one for each of those."""
        self.advance(time)
        if self._column:
            batch = in_order(batch, self._column)
            output.give_each(self._token, batch, batch.words(self._column))
        else:
            output.give(self._token, batch)

    def close(self) -> None:
        """Drop the token."""
        if self._token.live:
            self._token.drop()


class Tokens(Mechanism):
    """Tokens, as the paper proposes them."""

    name = "tokens"

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
        """See Mechanism. Where one time is let in after another, the rows at hand have one time, and are one message.
        """
        require_one_form(name, constructor, compiled)
        require_times(name, schemas, times)
        is_each = (each_time or self.sends_each_time) and not self.one_at_a_time
        columns = times if is_each else ("",) * len(times)
        if compiled is not None:
            from tokenring.operators.mechanisms.outlets import new_outlets

            builder = scope.operator(name, Notify.NEVER)
            streams = tuple([builder.output(schema) for schema in schemas])
            builder.build_compiled(lambda context: compiled(context, new_outlets(schemas, columns)), texts=True)
            return streams

        if self.one_at_a_time and any(times):
            raise GraphError(
                f"source {name!r} sends rows of many times at once, and mechanism={self.name!r} lets one time in at a "
                f"time: give rows by hand (new_input), and the next time when a probe has passed the one before; or "
                f"choose another mechanism"
            )

        def construct(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
            assert constructor is not None, "else it is compiled"
            return constructor(context, *map(TokenOutlet, tokens, columns))

        return scope.source(name, schemas, construct)

    def new_input(self, scope: Scope, schema: Schema, time: str, name: str = "input") -> tuple[InputHandle, Stream]:
        """See Mechanism."""
        position_of(f"input {name!r}", schema, time)
        return scope.new_input(schema, name)

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
        require_total_order(name, scope)
        builder = inputs[0][0].operator(name, notify)
        for stream, pact in inputs:
            builder.input(stream, pact)
        brings_due = moves is not None and state_moves(builder, moves, pends=True)
        saving = saving_of(scope) if moves is not None and not moves else None
        output = builder.output(schema)
        if compiled is not None:

            def construct(context: OperatorContext) -> Compiled | AtFirstMessage:
                by_times = is_by_times(output)  # the output itself would keep all that was declared

                def make() -> Compiled:
                    made = self._compile(compiled(), partial(late_rows, context.name), brings_due)
                    Driven(made.state).is_by_times = by_times
                    if saving is not None:
                        saving.rests_empty(Driven(made.state).empties.data, context.activate)
                    return made

                return at_first_message(make)

            builder.build_compiled(construct, texts=True)
            return output

        def construct_in_python(context: OperatorContext, token: Token) -> Callable[..., None]:
            empties = np.zeros(1, np.int64).data
            if saving is not None:
                saving.rests_empty(empties, context.activate)
            assert make is not None, "else it is compiled"
            return self._drive(context, token, make(), brings_due, empties)

        builder.build(construct_in_python)
        return output

    def _compile(
        self, logic: CompiledLogic, late_rows: Callable[[Time, Time], Exception], brings_due: bool
    ) -> Compiled:
        """The logic on one worker, in its inner loop."""
        return compile_with(timed, logic, late_rows, brings_due)

    def _drive(
        self, context: OperatorContext, token: Token, operator: TimedLogic, brings_due: bool, empties: memoryview
    ) -> Callable[..., None]:
        """The logic on one worker. brings_due: whether a last input brings rights for state that moved here. empties:
        whether all that is kept is to be sent at once, as it then says."""
        token.drop()
        late, advance, emit = operator.late, operator.advance, operator.emit
        held: Token | None = None
        pending = COMPLETE  # the least time at which output is pending: where the token is
        seen = -1
        inputs: tuple[tuple[Take, InputPort], ...] = ()
        port: OutputPort
        due: InputPort | None = None

        def hold(reference: TokenRef, time: Time) -> None:
            """Have the token at `time`, which is earlier than where it is."""
            nonlocal held, pending
            pending = time
            earlier = reference.retain()
            earlier.downgrade(min(time, MAX_TIME))
            if held is not None:
                held.drop()
            held = earlier

        def give(time: Time, batch: Batch) -> None:
            assert held is not None
            port.give(held, batch, None if time == pending else min(time, MAX_TIME))  # None is quicker

        def logic(*ports: Ports) -> None:
            nonlocal held, pending, seen, inputs, port, due
            if not inputs:  # the first call: ports are always the same
                port = ports[-1]
                if brings_due:
                    due = ports[-2]
                inputs = taken_by(operator, ports[: -2 if brings_due else -1])
            frontier = COMPLETE
            if due is not None:
                for reference, batch in due:
                    if batch["due"][0] < pending:
                        hold(reference, int(batch["due"][0]))
            for take, rows in inputs:
                for reference, batch in rows:
                    made = take(batch)
                    if made < pending:
                        if made < reference.time:
                            raise late_rows(context.name, reference.time, made)
                        hold(reference, made)
                at = rows.frontier
                if at < frontier:
                    frontier = at
            if frontier != seen:
                seen = frontier
                advance(frontier)
            upto = COMPLETE if empties[0] else frontier - late
            if held is None or pending > upto:
                return
            pending = emit(upto, give)
            if pending == COMPLETE:
                held.drop()
                held = None
            else:
                held.downgrade(min(pending, MAX_TIME))

        return logic

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
        stream, pact = edge
        depth = stream.scope.depth
        if remembers and stream.scope.coordinates:
            raise GraphError(
                f"operator {name!r} keeps of a key what came before, and times in {stream.scope.describe()} have no "
                f"one order: make a collection of the stream, which knows what there is at each of them, or "
                f"{stream.scope.root.way_out}"
            )
        if remembers and depth > 1:
            builder = stream.operator(name, Notify.ALWAYS)  # to let an epoch's state go
            builder.input(stream, pact)
            state_moves(builder)
            output = builder.output(schema)
            if compiled is not None:
                from tokenring.operators.mechanisms.rounds import answer_by_rounds, no_epochs

                by_epochs = partial(answer_by_rounds, compiled, depth)
                builder.build_compiled(lambda context: at_first_message(by_epochs, no_epochs), texts=True, loops=True)
                return output
            from tokenring.operators.mechanisms.rounds import by_rounds

            assert make is not None, "else it is compiled"
            builder.build(by_rounds(make))
            return output
        builder = stream.operator(name, notify)
        builder.input(stream, pact)
        if moves is not None or not remembers:
            state_moves(builder, moves or ())
        output = builder.output(schema)
        if compiled is not None:
            builder.build_compiled(
                lambda context: at_first_message(lambda: compile_with(respond, compiled())), texts=True, loops=True
            )
            return output

        def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
            token.drop()
            assert make is not None, "else it is compiled"
            answer = make()

            def logic(rows: InputPort, output: OutputPort) -> None:
                for reference, batch in rows:
                    output.give(reference, answer(batch))

            return logic

        builder.build(construct)
        return output

    def probe(self, stream: Stream) -> Progress:
        """The engine's probe."""
        return stream.probe()


TOKENS = Tokens()
"""What operators coordinate by unless told otherwise. It has no state, so all dataflows share it."""
