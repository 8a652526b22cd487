"""page_rank: the share of time that a random walk along edges spends at each node, by rounds of a loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine import (
    COLUMN,
    AnyStream,
    Batch,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    Token,
    UsageError,
    float64,
    kernel,
    readonly,
    void,
)
from tokenring.engine.arguments import whole_number
from tokenring.engine.compiled import Words
from tokenring.operators.graphs.adjacency import Adjacency, edges_of
from tokenring.operators.graphs.components import ends
from tokenring.operators.migrate import state_moves

RANK = Schema(node="int64", rank="float64")
_FLOATS = float64[::1]
_FLOAT_COLUMN = readonly(float64)


@kernel(void(COLUMN, _FLOAT_COLUMN, _FLOATS))
def _add(slots: Words, shares: Words, sums: Words) -> None:
    for i in range(len(slots)):
        sums[slots[i]] += shares[i]


@kernel(void(COLUMN, _FLOAT_COLUMN, _FLOATS))
def _spread(offsets: Words, ranks: Words, shares: Words) -> None:
    """Write, for each edge in the order of `offsets`, its part of its node's rank."""
    for slot in range(len(offsets) - 1):
        for at in range(offsets[slot], offsets[slot + 1]):
            shares[at] = ranks[slot] / (offsets[slot + 1] - offsets[slot])


class _Part:
    """A worker's nodes at one time of the surrounding scope."""

    def __init__(self, turn: Token, result: Token) -> None:
        self.turn = turn
        """The right to send the shares of the round that is next to be finished. Held also where no message comes: all
        workers go through all rounds.
        """
        self.result = result
        self.adjacency = Adjacency()
        self.sums: dict[int, np.ndarray] = {}  # by round: others may be a round ahead

    @property
    def nodes(self) -> int:
        """How many nodes there are; all of them, once shares arrive: who sends shares knows that names are finished."""
        return self.adjacency.keys.limit

    def add(self, at_round: int, batch: Batch) -> None:
        """Take in shares of a round."""
        slots = self.adjacency.keys.slots_of(batch.words("node"))
        if at_round not in self.sums:
            self.sums[at_round] = np.zeros(self.nodes)
        _add(slots, batch.words("rank"), self.sums[at_round])


def page_rank(edges: AnyStream, nodes: int, rounds: int, damping: float = 0.85) -> AnyStream:
    """Rows (node int64, rank float64), one for each node that has an edge (src, dst) at that time: its rank after that
    many rounds from 1 / nodes each.

    A round: rank = (1 - damping) / nodes + damping * the sum, over edges to the node, of their nodes' rank divided by
    its number of edges. What nodes without edges from them have is lost, so ranks add up to less than 1. A sum depends
    on the order of arrival, in its last bits. Exchanged by node; memory: the edges and nodes of open times.
    Source: Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking" (1999), section 2.
    SchemaError for nodes that are not int64; UsageError for numbers that are none.
    """
    edges = edges_of("page_rank", edges)
    nodes = whole_number("operator 'page_rank'", "nodes", nodes)
    rounds = whole_number("operator 'page_rank'", "rounds", rounds, 0)
    if not isinstance(damping, int | float) or not 0 <= damping <= 1:
        raise UsageError(f"operator 'page_rank': damping must be a number from 0 to 1, not {damping!r}")
    with edges.scope.loop("page_rank") as loop:
        entered, names = loop.enter(edges), loop.enter(ends(edges))
        back = loop.feedback(RANK)
        builder = entered.operator("page_rank/round", Notify.IF_TOKEN)
        builder.input(entered, Exchange("src"))
        builder.input(names, Exchange("node", ("node",)))
        builder.input(back.stream, Exchange("node"))
        state_moves(builder)  # it keeps times that are not finished alone
        shares = builder.output(RANK)
        ranks = builder.output(RANK)
        least = (1 - damping) / nodes

        def construct(context: OperatorContext, to_spread: Token, to_tell: Token) -> Callable[..., None]:
            to_spread.drop()
            to_tell.drop()
            return _logic(1 / nodes, least, damping, rounds)

        builder.build(construct)
        back.connect(shares)
    return loop.leave(ranks)


def _logic(first: float, least: float, damping: float, rounds: int) -> Callable[..., None]:
    """One worker's part: what it knows by time of the surrounding scope."""
    parts: dict[tuple[int, ...], _Part] = {}

    def part_of(reference: Any) -> _Part:
        outer = reference.time[:-1]
        if outer not in parts:
            parts[outer] = _Part(reference.retain(0), reference.retain(1))
        return parts[outer]

    def logic(
        edges: InputPort, nodes: InputPort, shared: InputPort, shares: OutputPort, ranks: OutputPort
    ) -> None:
        for reference, batch in edges:
            part_of(reference).adjacency.add(batch)
        for reference, batch in nodes:
            part_of(reference).adjacency.keys.slots_of(batch.words("node"))
        for reference, batch in shared:
            part_of(reference).add(reference.time[-1], batch)
        for outer, part in list(parts.items()):
            time = part.turn.time
            if not all(port.finished(time) for port in (edges, nodes, shared)):
                continue  # some worker has not sent all of this round
            if time[-1] == 0:
                part.adjacency.compress()
                now = np.full(part.nodes, first)
            else:
                now = least + damping * part.sums.pop(time[-1], np.zeros(part.nodes))
            if time[-1] < rounds:
                offsets, targets = part.adjacency.offsets, part.adjacency.targets
                spread = np.empty(len(targets))
                _spread(offsets, now, spread)
                shares.give(part.turn, Batch.wrap(RANK, (targets, spread), len(targets)))
                part.turn.downgrade((*outer, time[-1] + 1))  # done with this round: others may pass it
            else:
                ranks.give(part.result, Batch.wrap(RANK, (part.adjacency.keys.words(0), now), part.nodes))
                part.turn.drop()
                part.result.drop()
                del parts[outer]

    return logic
