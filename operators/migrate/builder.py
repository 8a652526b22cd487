"""The builder of operators where keyed state moves: an exchange by a key goes by bins, and the key's state with it."""

import warnings
from collections.abc import Callable
from typing import Any

from tokenring.engine import (
    Broadcast,
    Exchange,
    GraphError,
    Notify,
    OperatorBuilder,
    OperatorContext,
    Pact,
    PathSummary,
    Pipeline,
    Schema,
    Stream,
)
from tokenring.engine.compiled import CompiledConstructor
from tokenring.engine.declare import frame_in_program
from tokenring.operators.migrate.mover import MOVED, Mover
from tokenring.operators.migrate.moves import DUE, Led, Offering, Staying, Table, require_keys
from tokenring.operators.migrate.placement import Placement
from tokenring.operators.migrate.steering import Steering, with_to

_CURE = "; or declare the dataflow without bins="


class HeldBackWarning(UserWarning):
    """State in bins is behind a join that holds frontiers back until an input ends, so that no bin moves before.

    Silence it with `warnings.filterwarnings("ignore", category=HeldBackWarning)`.
    """


class MigratingBuilder(OperatorBuilder[Any]):
    """Declares an operator whose keyed state, if it has any, moves by bins."""

    moves_bins = True

    def __init__(self, scope: Any, name: str, notify: Notify = Notify.ALWAYS) -> None:
        super().__init__(scope, name, notify)
        self._name = name
        self._mover: Mover | None = None
        self._declared: tuple[Table, ...] | None = None
        self._stays = self._hears_of_ends = False
        self._made: list[Stream] = []

    def input(self, stream: Stream, pact: Pact | None = None) -> int:
        """See OperatorBuilder. An exchange in a loop stays: times are tuples there, and there is no point which all of
        them pass in order. GraphError for one that is declared after an output, and where another stays."""
        if not isinstance(pact, Exchange) or not pact.key_crosses:
            return super().input(stream, pact)
        stays = isinstance(pact, Staying) or self._scope.depth > 1
        if self._mover is not None if stays else self._stays:
            raise GraphError(
                f"operator {self._spec.name!r}: the keys of one input stay on their workers, and those of another "
                f"move, so that equal keys would not meet: let all inputs have Staying(...), or none{_CURE}"
            )
        if stays:
            if not self._stays:
                self._scope.kept(Placement).staying.append(self._spec.name)
            self._stays = True
            return super().input(stream, pact)
        steered = self._steered(stream, pact)
        names = pact.columns if pact.columns is not None else stream.schema.names
        return super().input(steered, Led(steered.schema.names[-1], (*names,), key_crosses=False))

    def _steered(self, stream: Stream, pact: Exchange) -> Stream:
        """The stream through F, which is declared before this operator, though that has begun."""
        with self._before_it("where keyed state moves", _CURE):
            self._say_if_held_back(stream)
            if self._mover is None:
                self._begin()
            return self._steer(stream, pact)

    def _say_if_held_back(self, stream: Stream) -> None:
        """Warn, once of each, where something before this operator waits for the ends of its inputs."""
        placement, graph = self._scope.kept(Placement), self._scope.graph
        if placement.index or not placement.until_ends:
            return
        before = [graph.operators[number] for number in graph.behind(stream.source, stream.stage)[0]]
        for spec in [spec for spec in placement.until_ends if any([spec is each for each in before])]:
            placement.until_ends.remove(spec)
            frame = frame_in_program()
            warnings.warn_explicit(
                f"operator {self._spec.name!r} input {len(self._spec.inputs)} is behind {spec.name!r}, a join that "
                f"sends rows which match nothing once an input of it has ended, at their own times: no frontier behind "
                f"it passes them before, so the first move of bins of dataflow {graph.name!r} lasts until then, no "
                f"other begins, and rows pile up. Give the join a window=, or bounds (interval_join); or declare the "
                f"dataflow without bins=; where its inputs end soon it is as it should be. To silence this: "
                f'warnings.filterwarnings("ignore", category=tokenring.HeldBackWarning)',
                HeldBackWarning,
                frame.f_code.co_filename,
                frame.f_lineno,
            )

    def _begin(self) -> None:
        """M and A."""
        placement = self._scope.kept(Placement)
        self._mover = placement.mover(self._spec.name)
        self._sender: OperatorBuilder[Any] = OperatorBuilder(self._scope, f"{self._name}.move", Notify.IF_TOKEN)
        self._sender.input(placement.changes, Broadcast())
        self._receiver: OperatorBuilder[Any] = OperatorBuilder(self._scope, f"{self._name}.arrive", Notify.IF_TOKEN)
        self._receiver.input(self._sender.output(MOVED))
        self._ready: Stream = self._receiver.output(MOVED)
        self._due: Stream = self._receiver.output(DUE)

    def _steer(self, stream: Stream, pact: Exchange) -> Stream:
        mover = self._mover
        assert mover is not None
        number = len(mover.steerings)
        steering = Steering(stream.schema, pact.keys)
        mover.steerings.append(steering)
        builder: OperatorBuilder[Any] = OperatorBuilder(
            self._scope, f"{self._name}.steer" + (f".{number}" if number else ""), Notify.ALWAYS
        )
        steering.number = builder.number
        steering.origin = self._scope.watch(stream.source, is_quiet=True)
        builder.input(stream)
        builder.input(self._ready)
        steered: Stream = builder.output(steering.schema)
        placement = self._scope.kept(Placement)

        def asked() -> None:
            mover.asked()
            placement.asked()

        builder.build_compiled(lambda context: steering.compiled(context, mover.versions, asked), texts=True)
        if self._hears_of_ends:
            # Rows wait for what is ready in any case, and F sends by what brought them: there is no way from the other
            # input, which need not hold back their end. (Behind `build`, which knows not what a compiled one sends by.)
            builder._spec.summaries[1, 0] = None
        return steered

    def output(
        self, schema: Schema, summaries: dict[int, PathSummary | None] | None = None, *, only: bool = False
    ) -> Any:
        """See OperatorBuilder."""
        self._made.append(super().output(schema, summaries, only=only))
        return self._made[-1]

    def hears_of_ends(self) -> None:
        """See `hears_of_ends` of moves."""
        self._hears_of_ends = True
        self._scope.kept(Placement).until_ends.append(self._spec)

    def state_moves(self, tables: tuple[Table, ...], pends: bool) -> bool:
        """See `state_moves` of moves."""
        self._declared = tables
        mover = self._mover
        if mover is None:
            return False
        require_keys(self._spec.name, tables, [(steering.schema, steering.key) for steering in mover.steerings])
        mover.tables, mover.pends = tables, pends
        for table in tables:
            made: Stream = self._sender.output(with_to(table.schema))
            self._receiver.input(made, Led(made.schema.names[-1], None, key_crosses=False))
        self._sender.build(mover.sending)
        self._receiver.build(mover.arriving)
        if pends:
            self._take_due(self._due)
        return pends

    def _take_due(self, due: Stream) -> None:
        super().input(due, Pipeline())

    def build(self, constructor: Callable[..., Any]) -> None:
        """See OperatorBuilder. GraphError for an operator that does not say how its state moves."""
        super().build(self._offering(constructor))
        self._watch()

    def build_compiled(
        self, constructor: CompiledConstructor, texts: bool = False, reads_texts: bool = True, loops: bool = False
    ) -> None:
        """See OperatorBuilder. GraphError for an operator that does not say how its state moves."""
        super().build_compiled(self._offering(constructor), texts, reads_texts, loops)
        self._watch()

    def _offering(self, constructor: Callable[..., Any]) -> Callable[..., Any]:
        mover = self._mover
        if mover is None:
            return constructor
        if self._declared is None:
            raise GraphError(
                f"operator {self._spec.name!r} exchanges rows by a key and does not say how its state moves: call "
                f"state_moves(builder, tables) behind its inputs; or give it Staying(...) for Exchange(...), so that "
                f"it stays where it is{_CURE}"
            )
        return Offering(constructor, mover.offered, self._is_made)

    def _is_made(self, context: OperatorContext) -> None:
        """The operator is made, and has offered its state."""
        assert self._mover is not None, "its state moves"
        self._mover.try_out()

    def _watch(self) -> None:
        """What tells M how far the operator is."""
        mover = self._mover
        if mover is None:
            return
        mover.pends |= not self._made  # what sends nothing needs no right to
        inputs = range(0 if self._made else len(self._spec.inputs))
        mover.probes.extend([self._scope.watch(stream.source, is_quiet=True) for stream in self._made])
        mover.probes.extend([self.probe(port, is_quiet=True) for port in inputs])
