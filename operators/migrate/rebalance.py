"""Rebalance: bins move by themselves from workers whose rows are too many, as far as that helps.

Each worker's F counts rows of a sample by bins. What is new goes to worker 0 as a stream, of which a message is sent
when the control stream moves: where no rows come, nothing runs. Worker 0 adds up, older rows counting less and less,
and once it has enough rows to tell more than chance, and that twice, it lets bins move.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any, NamedTuple

import numpy as np

from tokenring.engine import (
    COMPLETE,
    Batch,
    InputPort,
    Notify,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Schema,
    Token,
    UsageError,
)
from tokenring.engine.arguments import is_number
from tokenring.engine.compiled import key_of_worker
from tokenring.operators.migrate.moves import Led
from tokenring.operators.migrate.placement import Placement
from tokenring.operators.migrate.plans import FLUID, require_plan
from tokenring.operators.migrate.steering import TO

_LOADS = Schema.of({"bin": "int64", "rows": "int64", TO: "int64"})
_SIGMAS = 4  # that the limit is away from the mean: the rows of a sample that it takes follow from it
_FADES = 0.5  # what older rows count for, from one look to the next
_MOST_MS = 1e9  # eleven days: a timer cannot wait for any number
_WORTH = 0.9  # of what is above the limit: a move that leaves more is not made
_log = logging.getLogger("tokenring")


@dataclass(frozen=True)
class Rebalance:
    """How bins are kept in balance: `worker.dataflow(name, bins=256, rebalance=Rebalance())`."""

    within: float = 1.2
    """What no worker's load is to be above: so many times the mean of all workers."""
    every_ms: float = 100.0
    """How often, at most, workers say what they counted."""
    plan: str = FLUID
    """In which steps bins move, see `Placement.move`."""

    def __post_init__(self) -> None:
        if not (is_number(self.within) and self.within > 1):
            raise UsageError(f"Rebalance(within={self.within!r}): no worker can be kept below the mean; give 1.2, say")
        if not (is_number(self.every_ms) and 0 < self.every_ms <= _MOST_MS):
            raise UsageError(f"Rebalance(every_ms={self.every_ms!r}): give more than 0, and no more than {_MOST_MS:g}")
        require_plan(self.plan)


class Balance(NamedTuple):
    """How even the load is: `scope.placement.balance`, on worker 0."""

    greatest: float
    """The load of the worker with the most, as a multiple of the mean."""
    rows: int
    """Of a sample, that this is known by."""
    problem: str
    """Why moving bins does not bring it below the limit; "" if it does."""


def rebalanced(load: np.ndarray, workers: np.ndarray, peers: int, within: float) -> np.ndarray:
    """Where bins are to be so that no worker's load is above `within` of the mean, if that can be; or as far below as
    single moves bring it. Bins stay where they are unless something is gained.

    load: of each bin, float64 (bins,); workers: of each bin, int64 (bins,), as what is returned.
    """
    by_worker = np.bincount(workers, load, peers)
    mean = by_worker.sum() / peers
    limit, aim = within * mean, (1 + within) / 2 * mean
    before, target, stuck = np.maximum(by_worker - limit, 0).sum(), workers.copy(), np.zeros(peers, bool)
    while before and not stuck.all():
        most = int(np.argmax(np.where(stuck, -1, by_worker)))
        least = int(np.argmin(by_worker))
        gap = by_worker[most] - by_worker[least]
        if by_worker[most] <= aim:
            break
        mine = np.flatnonzero((target == most) & (load > 0) & (load < gap))
        if not len(mine):
            stuck[most] = True
            continue
        number = int(mine[np.argmin(np.abs(load[mine] - gap / 2))])
        target[number] = least
        by_worker[most] -= load[number]
        by_worker[least] += load[number]
    return target if np.maximum(by_worker - limit, 0).sum() < _WORTH * before else workers.copy()


class Balancing:
    """What worker 0 knows of the load, and what it does about it."""

    def __init__(self, placement: Placement, how: Rebalance, name: str) -> None:
        """name: the dataflow's."""
        self._placement, self._how, self._name = placement, how, name
        self._load = np.zeros(placement.bins.count)
        self._fresh = 0
        self._enough = placement.peers * int((_SIGMAS / (how.within - 1)) ** 2 + 1)
        self.is_paused = False
        """Whether bins are to stay where somebody moves them: a worker is to end."""
        self._was_uneven = False
        self._problem = ""

    @property
    def balance(self) -> Balance:
        """How even the load is, as bins are now."""
        by_worker = np.bincount(self._placement.workers, self._load, self._placement.peers)
        rows = float(self._load.sum())
        return Balance(float(by_worker.max() * len(by_worker) / rows) if rows else 1.0, int(rows), self._problem)

    def heard(self, batch: Batch) -> None:
        """A worker says what it counted."""
        np.add.at(self._load, batch["bin"], batch["rows"])
        self._fresh += int(batch["rows"].sum())

    def look(self) -> None:
        """Let bins move if that is called for."""
        placement, within = self._placement, self._how.within
        if self.is_paused or self._fresh < self._enough or placement.is_moving:
            return
        self._fresh = 0
        is_uneven = self.balance.greatest > within
        if is_uneven and self._was_uneven:
            before = placement.workers
            target = rebalanced(self._load, before, placement.peers, within)
            self._judge(target)
            if (target != before).any():
                placement.move(target, self._how.plan)
        elif not is_uneven:
            self._problem = ""
        self._was_uneven = is_uneven
        self._load *= _FADES

    def _judge(self, target: np.ndarray) -> None:
        """Say once what stays above the limit."""
        by_worker = np.bincount(target, self._load, self._placement.peers)
        worker, rows = int(np.argmax(by_worker)), self._load.sum()
        if by_worker[worker] <= self._how.within * rows / len(by_worker):
            self._problem = ""
            return
        hottest = int(np.argmax(np.where(target == worker, self._load, -1)))
        place = f"dataflow {self._name!r}: worker {worker}"
        is_new = not self._problem.startswith(place)
        self._problem = (
            f"{place} keeps {by_worker[worker] * len(by_worker) / rows:.2f} times the mean load, above "
            f"{self._how.within:g}, and moving bins does not help: its bin {hottest} alone has "
            f"{self._load[hottest] / rows:.0%} of all rows. If that is several keys, declare more than "
            f"bins={len(self._load)}; if it is one, aggregate in two steps, by the key and a number of a few first, "
            f"then by the key"
        )
        if is_new:
            _log.warning("%s", self._problem)


def keep_balanced(scope: Any, placement: Placement, how: Rebalance, peers: int) -> None:
    """Declare what counts rows on all workers, and what moves bins on worker 0."""
    balancing = Balancing(placement, how, scope.graph.name)
    placement.balancing = balancing
    counter: OperatorBuilder[Any] = OperatorBuilder(scope, "placement.load", Notify.IF_TOKEN)
    placement.counter = counter.number
    counter.input(placement.changes)
    loads = counter.output(_LOADS)
    counter.build(_counting(placement, int(how.every_ms * 1e6), key_of_worker(0, peers)))
    judge: OperatorBuilder[Any] = OperatorBuilder(scope, "placement.balance", Notify.NEVER)
    judge.input(loads, Led(TO, ("bin", "rows"), key_crosses=False))

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(loads: InputPort) -> None:
            for _, batch in loads:
                balancing.heard(batch)
            balancing.look()

        return logic

    judge.build(construct)


def _counting(
    placement: Placement, every_ns: int, to: int
) -> Callable[[OperatorContext, Token], Callable[[InputPort, OutputPort], None]]:
    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        told = np.zeros(placement.bins.count, np.int64)
        told_ns = 0
        placement.woken = context.activate

        def logic(changes: InputPort, output: OutputPort) -> None:
            nonlocal told, told_ns
            for _ in changes:
                pass
            if not token.live:
                return
            if changes.frontier == COMPLETE or not placement.counts:
                token.drop()
                return
            now_ns = monotonic_ns()
            if now_ns - told_ns < every_ns:
                return
            told_ns = now_ns
            loads = placement.loads
            bins = np.flatnonzero(loads != told)
            if len(bins):
                token.downgrade(max(token.time, changes.frontier))
                rows = (loads - told)[bins]
                told = loads
                output.give(token, Batch(_LOADS, {"bin": bins, "rows": rows, TO: np.full(len(bins), to, np.int64)}))

        return logic

    return construct
