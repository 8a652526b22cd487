"""The builder of operators in a dataflow under recovery: what an operator keeps is saved, and put in when it begins."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokenring.engine import (
    COMPLETE,
    Batch,
    Notify,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Pipeline,
    Stream,
    Token,
)
from tokenring.engine.compiled import Compiled
from tokenring.operators.migrate import DUE, Offering, Table
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

    def state_moves(self, tables: tuple[Table, ...], pends: bool) -> bool:
        """See `state_moves` of moves."""
        if tables and self._scope.depth > 1:
            return False  # it is refused, as one that has said nothing
        self._saving.accounted.append(self._spec)
        if not tables:
            return False
        self._state = state = self._saving.state(self._spec, tables, pends)
        if pends:
            super().input(self._rights(state), Pipeline())
        return pends

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
        self, constructor: Callable[..., Compiled], texts: bool = False, reads_texts: bool = True
    ) -> None:
        """See OperatorBuilder."""
        super().build_compiled(self._restoring(constructor), texts, reads_texts)

    def _restoring(self, constructor: Callable[..., Any]) -> Callable[..., Any]:
        state = self._state
        if state is None:
            return constructor
        return Offering(constructor, state.offered, lambda context: state.begin(context.worker_index, context.peers))
