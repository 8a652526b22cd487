"""The builder of operators in a dataflow under recovery: what an operator keeps is saved, and put in when it begins."""

from collections.abc import Callable
from typing import Any

from tokenring.engine import (
    COMPLETE,
    Batch,
    GraphError,
    Notify,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Pipeline,
    Stream,
    Token,
)
from tokenring.engine.compiled import Compiled
from tokenring.operators.migrate import DUE, Table, offers_to
from tokenring.operators.recovery.saving import SavedState, Saving


class RecoveringBuilder(OperatorBuilder[Any]):
    """Declares an operator whose state is saved."""

    def __init__(self, scope: Any, name: str, notify: Notify = Notify.ALWAYS) -> None:
        super().__init__(scope, name, notify)
        self._name = name
        self._saving: Saving = scope.root.saving
        self._state: SavedState | None = None

    def state_moves(self, tables: tuple[Table, ...], pends: bool) -> bool:
        """See `state_moves` of moves."""
        self._saving.accounted.append(self._spec)
        if not tables:
            return False
        self._state = state = self._saving.state(self._spec.name, tables)
        if pends:
            super().input(self._rights(state), Pipeline())
        return pends

    def _rights(self, state: SavedState) -> Stream:
        """What brings the right to send what was pending, from an operator that is declared before this one."""
        operators = self._scope.graph.operators
        if operators[-1] is not self._spec or self._spec.outputs:
            raise GraphError(
                f"operator {self._spec.name!r}: under recovery, inputs and state are declared right behind the "
                f"operator, before its outputs and before other operators; or run without recovery="
            )
        operators.pop()
        source: OperatorBuilder[Any] = OperatorBuilder(self._scope, f"{self._name}.restored", Notify.NEVER)
        rights: Stream = source.output(DUE)

        def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
            def logic(output: OutputPort) -> None:
                if token.live:
                    if state.due < COMPLETE:
                        token.downgrade(min(self._saving.resumed_at, state.due))
                        output.give(token, Batch(DUE, {"due": [state.due]}))
                    token.drop()

            return logic

        source.build(construct)
        self._saving.accounted.append(operators[-1])
        self._saving.rights.append(rights)
        self.number = len(operators)
        operators.append(self._spec)
        return rights

    def build(self, constructor: Callable[..., Any]) -> None:
        """See OperatorBuilder."""
        super().build(self._restoring(constructor))

    def build_compiled(
        self, constructor: Callable[..., Compiled], texts: bool = False, reads_texts: bool = True
    ) -> None:
        """See OperatorBuilder."""
        super().build_compiled(self._restoring(constructor), texts, reads_texts)

    def _restoring(self, constructor: Callable[..., Any]) -> Callable[..., Any]:
        return constructor if self._state is None else _Restoring(constructor, self._state)


class _Restoring:
    """A constructor after which the state that was saved is put in."""

    def __init__(self, constructor: Callable[..., Any], state: SavedState) -> None:
        self._constructor, self._state = constructor, state
        self.__code__ = getattr(constructor, "__code__", None)

    def __call__(self, context: OperatorContext, *tokens: Any) -> Any:
        state = self._state
        state.offered.clear()
        with offers_to(state.offered):
            made = self._constructor(context, *tokens)
        state.begin(context.worker_index, context.peers)
        return made
