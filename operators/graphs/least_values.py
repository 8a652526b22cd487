"""least_values: the least value that reaches each node along edges; breadth-first search and components are made of it.
"""

from collections.abc import Callable

import numpy as np

from tokenring.engine import (
    COLUMN,
    MAX_TIME,
    TABLE,
    WORDS,
    AnyStream,
    Batch,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    SchemaError,
    Token,
    TokenRef,
    UsageError,
    int64,
    kernel,
)
from tokenring.engine.arguments import whole_number
from tokenring.engine.compiled import Words
from tokenring.operators.graphs.adjacency import Adjacency
from tokenring.operators.migrate import state_moves
from tokenring.operators.state import grown, require_rows

NODE_VALUE = Schema("node value")
_UNREACHED = -1
_ROUNDS_APART = 4
"""Between seeds and those with a bit more. What little values reach, greater ones need not set out to; where nothing is
under way, the frontier skips the rounds between."""


@kernel(int64(TABLE, COLUMN, COLUMN, WORDS, int64))
def _improve(state: Words, slots: Words, values: Words, changed: Words, count: int) -> int:
    """Keep lesser values; append slots that have got one to `changed` after its first `count`; returns the new count.

    state: int64 (slots, 2) of (value, whether the slot is in `changed`, or _UNREACHED: it has no value).
    """
    for i in range(len(slots)):
        slot = slots[i]
        if state[slot, 1] == _UNREACHED or values[i] < state[slot, 0]:
            state[slot, 0] = values[i]
            if state[slot, 1] != 1:
                state[slot, 1] = 1
                changed[count] = slot
                count += 1
    return count


@kernel(int64(COLUMN, COLUMN, TABLE, int64))
def _edges_of(changed: Words, offsets: Words, state: Words, upto: int) -> int:
    """The number of edges that begin at the first `upto` changed slots."""
    edges = 0
    for i in range(upto):
        if changed[i] + 1 < len(offsets):
            edges += offsets[changed[i] + 1] - offsets[changed[i]]
    return edges


@kernel(int64(COLUMN, int64, COLUMN, COLUMN, TABLE, int64, WORDS, WORDS))
def _propose(
    changed: Words, upto: int, offsets: Words, targets: Words, state: Words, step: int, nodes: Words, values: Words
) -> int:
    """Write (node, value) for each edge of the first `upto` changed slots, which are changed no more."""
    row = 0
    for i in range(upto):
        slot = changed[i]
        state[slot, 1] = 0
        if slot + 1 < len(offsets):
            for at in range(offsets[slot], offsets[slot + 1]):
                nodes[row], values[row] = targets[at], state[slot, 0] + step
                row += 1
    return row


class _Part:
    """A worker's nodes at one time of the surrounding scope, until the loop has come to its end there."""

    def __init__(self, result: Token) -> None:
        self.result = result
        """The right to say the outcome. It is for the output that leaves the loop, from which no way leads back to the
        loop's own inputs, so it does not keep the loop from ending.
        """
        self.turn: Token | None = None
        """The right to propose at the earliest round for which there are values to pass on, or seeds to let in."""
        self.adjacency = Adjacency()
        self.seeds: list[Batch] = []
        self._waiting: list[tuple[int, Batch]] = []  # seeds by round, the first one last
        self._state = np.empty((0, 2), np.int64)
        self._changed = np.empty(0, np.int64)
        self._count = 0

    def take_turn(self, reference: TokenRef) -> None:
        """There will be something to propose at the message's time."""
        if self.turn is not None:
            if self.turn.time <= reference.time:  # they differ in the round alone
                return
            self.turn.drop()
        self.turn = reference.retain(0)

    def sow(self, at_round: int) -> int | None:
        """Let in the seeds whose round has come, once all are there; returns the next round that some wait for."""
        if self.seeds:
            seeds, self.seeds = Batch.concatenate(self.seeds), []
            lengths = np.maximum(np.frexp(seeds.columns[1].astype(np.float64))[1], 0)
            for length in np.unique(lengths)[::-1].tolist():
                chosen = lengths == length
                columns = tuple([column[chosen] for column in seeds.columns])
                self._waiting.append((length * _ROUNDS_APART, Batch.wrap(seeds.schema, columns, len(columns[0]))))
        while self._waiting and self._waiting[-1][0] <= at_round:
            self.improve(self._waiting.pop()[1])
        return self._waiting[-1][0] if self._waiting else None

    def improve(self, batch: Batch) -> None:
        """Take in proposed values."""
        nodes, values = batch.columns
        slots = self.adjacency.keys.slots_of(nodes)
        before, limit = len(self._state), self.adjacency.keys.limit
        if before < limit:
            self._state = grown(self._state, limit, axis=0)
            self._state[before:, 1] = _UNREACHED
            self._changed = grown(self._changed, limit, None)
        self._count = _improve(self._state, slots, values, self._changed, self._count)

    def propose(self, step: int) -> Batch:
        """What the changed nodes' neighbours should hear of."""
        adjacency = self.adjacency
        adjacency.compress()
        rows = _edges_of(self._changed, adjacency.offsets, self._state, self._count)
        nodes, values = np.empty(rows, np.int64), np.empty(rows, np.int64)
        _propose(
            self._changed, self._count, adjacency.offsets, adjacency.targets, self._state, step, nodes, values
        )
        self._count = 0
        if step and rows and values.min() < step - 2**63:  # it went round
            raise UsageError(f"by a step of {step} a value grows beyond 2**63 - 1: seed smaller ones")
        return Batch.wrap(NODE_VALUE, (nodes, values), rows)

    def outcome(self) -> Batch:
        """Each node that was reached, and its value."""
        nodes = self.adjacency.keys.words(0)
        values, told = self._state[: len(nodes)].T  # slots beyond have edges only: no value has come to them
        reached = np.flatnonzero(told != _UNREACHED)
        return Batch.wrap(NODE_VALUE, (nodes[reached], values[reached]), len(reached))


def _require_int64(name: str, what: str, stream: AnyStream) -> None:
    require_rows(name, stream)
    if [str(kind) for kind in stream.schema.kinds] != ["int64", "int64"]:
        raise SchemaError(
            f"operator {name!r}: {what} are two columns, both int64 and without nulls, not {stream.schema!r}: select "
            f"them so, and give nodes that are no numbers one each"
        )


def least_values(edges: AnyStream, seeds: AnyStream, step: int = 0, name: str = "least_values") -> AnyStream:
    """Rows (node, value), int64: for each time's edges and seeds, the least value that reaches a node; one a node.

    edges: (from, to); seeds: (node, value); both int64, under whatever names. A seed gives its node a value, and a node
    with value v gives v + step >= v to those its edges lead to. Nodes that nothing reaches are left out.
    Rounds are a loop of its own. In each, nodes that got a lesser value tell their neighbours once; seeds are let in by
    the number of their bits, small ones first; when no round has anything under way, the time's outcome leaves.
    Exchanged by node. Memory: the edges and nodes of open times.
    After Naiad's connected components (its section 6) and differential dataflow's `propagate_at`.
    SchemaError for rows of other columns; UsageError for a step below 0, and (as OperatorError) for values that grow
    beyond 64 bits.
    """
    _require_int64(name, "edges (from, to)", edges)
    _require_int64(name, "seeds (node, value)", seeds)
    step = whole_number(f"operator {name!r}", "step", step, 0)
    with edges.scope.loop(name) as loop:
        edges, seeds = loop.enter(edges), loop.enter(seeds)
        back = loop.feedback(NODE_VALUE)
        builder = edges.operator(f"{name}/improve", Notify.IF_TOKEN)
        builder.input(edges, Exchange(edges.schema.names[0]))
        builder.input(seeds, Exchange(seeds.schema.names[0]))
        builder.input(back.stream, Exchange("node"))
        state_moves(builder)  # it keeps times that are not finished alone
        proposals = builder.output(NODE_VALUE)
        result = builder.output(NODE_VALUE)

        def construct(context: OperatorContext, to_propose: Token, to_tell: Token) -> Callable[..., None]:
            to_propose.drop()
            to_tell.drop()
            return _logic(step)

        builder.build(construct)
        back.connect(proposals)
    return loop.leave(result)


def _logic(step: int) -> Callable[..., None]:
    """One worker's part: what it knows by time of the surrounding scope."""
    parts: dict[tuple[int, ...], _Part] = {}

    def part_of(reference: TokenRef) -> _Part:
        outer = reference.time[:-1]
        if outer not in parts:
            parts[outer] = _Part(reference.retain(1))
        return parts[outer]

    def logic(
        edges: InputPort, seeds: InputPort, proposed: InputPort, proposals: OutputPort, result: OutputPort
    ) -> None:
        for reference, batch in edges:
            part_of(reference).adjacency.add(batch)
        for reference, batch in seeds:
            part = part_of(reference)
            part.take_turn(reference)
            part.seeds.append(batch.copy())
        for reference, batch in proposed:
            part = part_of(reference)
            part.take_turn(reference)
            part.improve(batch)
        for outer, part in list(parts.items()):
            turn = part.turn
            if turn is not None and all(port.finished(turn.time) for port in (edges, seeds, proposed)):
                next_round = part.sow(turn.time[-1])
                proposals.give(turn, part.propose(step))
                if next_round is None:
                    turn.drop()
                    part.turn = None
                else:
                    turn.downgrade((*outer, next_round))
            last = (*outer, MAX_TIME)  # finished, if no round of this time can bring anything any more
            if part.turn is None and all(port.finished(last) for port in (edges, seeds, proposed)):
                result.give(part.result, part.outcome())
                part.result.drop()
                del parts[outer]

    return logic
