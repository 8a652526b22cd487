"""The builders of operators in a dataflow under recovery: what one keeps is saved, and put in when it begins."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokenring.engine import (
    COMPLETE,
    Batch,
    Exchange,
    Notify,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Pact,
    Pipeline,
    Schema,
    Stream,
    Token,
)
from tokenring.engine.compiled import CompiledConstructor
from tokenring.operators.migrate import DUE, MigratingBuilder, Offered, Offering, Table, require_keys
from tokenring.operators.recovery.saved import SavedState

if TYPE_CHECKING:
    from tokenring.operators.recovery.saving import Saving


class RecoveringBuilder(OperatorBuilder[Any]):
    """Declares an operator whose state is saved."""

    def __init__(self, scope: Any, name: str, notify: Notify = Notify.ALWAYS) -> None:
        super().__init__(scope, name, notify)
        self._name = name
        self._saving: Saving = scope.root.saving
        self._state: SavedState | None = None
        self._exchanged: list[tuple[Schema, tuple[str, ...]]] = []
        self._keeps_nothing = False

    def input(self, stream: Stream, pact: Pact | None = None) -> int:
        """See OperatorBuilder."""
        port = super().input(stream, pact)
        if isinstance(pact, Exchange):
            self._exchanged.append((stream.schema, pact.keys))
        return port

    def state_moves(self, tables: tuple[Table, ...], pends: bool) -> bool:
        """See `state_moves` of moves."""
        require_keys(self._spec.name, tables, self._exchanged)
        state = self._saved(tables, pends)
        if state is None or not pends:
            return False
        super().input(self._rights(state), Pipeline())
        return True

    def _saved(self, tables: tuple[Table, ...], pends: bool) -> SavedState | None:
        """What is saved of the operator; None where it keeps nothing."""
        if tables and self._scope.depth > 1:
            return None  # it is refused, as one that has said nothing
        self._saving.accounted.append(self._spec)
        self._keeps_nothing = not tables and self._scope.depth == 1  # in a loop nothing is there as a snapshot is taken
        if tables:
            self._state = self._saving.state(self._spec, tables, pends)
        return self._state

    def _rights(self, state: SavedState) -> Stream:
        """What brings the right to send what was pending, from an operator that is declared before this one."""

        def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
            def logic(output: OutputPort) -> None:
                if token.live:
                    if state.due < COMPLETE:
                        token.downgrade(min(self._saving.resumed_at, state.due))
                        output.give(token, Batch(DUE, {"due": [state.due]}))
                    token.drop()

            return logic

        with self._before_it("under recovery", "; or run without recovery="):
            source: OperatorBuilder[Any] = OperatorBuilder(self._scope, f"{self._name}.restored", Notify.NEVER)
            rights: Stream = source.output(DUE)
            source.build(construct)
            self._saving.accounted.append(self._scope.graph.operators[-1])
        self._saving.rights.append(rights)
        return rights

    def output(self, *given: Any, **more: Any) -> Any:
        """See OperatorBuilder."""
        made = super().output(*given, **more)
        made.rejects = self._saving.dead_letters
        return made

    def build(self, constructor: Callable[..., Any]) -> None:
        """See OperatorBuilder."""
        super().build(self._restoring(constructor))

    def build_compiled(
        self, constructor: CompiledConstructor, texts: bool = False, reads_texts: bool = True, loops: bool = False
    ) -> None:
        """See OperatorBuilder."""
        super().build_compiled(self._restoring(constructor), texts, reads_texts, loops)

    def _restoring(self, constructor: Callable[..., Any]) -> Callable[..., Any]:
        state = self._state
        if self._keeps_nothing:
            offered = Offered()
            return Offering(constructor, offered, lambda context: offered.require_none(self._spec.name))
        if state is None:
            return constructor
        return Offering(constructor, state.offered, lambda context: state.begin(context.worker_index, context.peers))


class MovingBuilder(RecoveringBuilder, MigratingBuilder):
    """Declares an operator whose state is saved, and moves by bins."""

    def state_moves(self, tables: tuple[Table, ...], pends: bool) -> bool:
        """See `state_moves` of moves."""
        if self._mover is None:
            return super().state_moves(tables, pends)
        state = self._saved(tables, pends)
        if state is not None:
            state.move_by(self._mover)
        return MigratingBuilder.state_moves(self, tables, pends)

    def _take_due(self, due: Stream) -> None:
        """Output is pending by what was put in when the run went on, or by what came from another worker."""
        assert self._state is not None, "it has tables"
        rights = self._rights(self._state)
        with self._before_it("under recovery", "; or run without recovery="):
            both = self._both(rights, due)
            self._saving.patches.add(both.source.operator)
        OperatorBuilder.input(self, both, Pipeline())

    def _both(self, rights: Stream, due: Stream) -> Stream:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()

            def logic(*ports: Any) -> None:
                *inputs, output = ports
                for port in inputs:
                    for reference, batch in port:
                        output.give(reference, batch)

            return logic

        builder: OperatorBuilder[Any] = OperatorBuilder(self._scope, f"{self._name}.due", Notify.NEVER)
        builder.input(rights)
        builder.input(due)
        both: Stream = builder.output(DUE)
        builder.build(construct)
        self._saving.accounted.append(self._scope.graph.operators[-1])
        return both

    def _begin(self) -> None:
        super()._begin()
        self._saving.accounted += self._scope.graph.operators[-2:]

    def _steer(self, stream: Stream, pact: Exchange) -> Stream:
        steered = super()._steer(stream, pact)
        self._saving.accounted.append(self._scope.graph.operators[-1])
        self._saving.patches.add(steered.source.operator)
        return steered

    def input(self, stream: Stream, pact: Pact | None = None) -> int:
        """See OperatorBuilder."""
        port = super().input(stream, pact)
        if pact is not None:
            self._saving.pacts[id(self._spec.inputs[port])] = pact
        return port

    def _restoring(self, constructor: Callable[..., Any]) -> Callable[..., Any]:
        return super()._restoring(constructor) if self._mover is None else constructor

    def _is_made(self, context: OperatorContext) -> None:
        super()._is_made(context)
        if self._state is not None:
            self._state.begin(context.worker_index, context.peers)
