"""The oracle: every live token and every row in flight, and what they imply for each frontier, without the engine's
help."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from tests.engine.safety.paths import applied, minimal, no_later, paths
from tests.engine.safety.plan import Plan, Port, When
from tokenring.engine import Broadcast, Exchange

Chain = tuple[When, ...]
"""A frontier: its minimal times; empty if complete."""


class Violation(AssertionError):
    """The engine did what it must never do."""


def is_past(frontier: Chain, time: When) -> bool:
    """Whether a frontier says that `time` cannot come any more."""
    return not any(no_later(least, time) for least in frontier)


class Oracle:
    """Ground truth about one dataflow on all workers."""

    def __init__(self, plan: Plan, workers: int) -> None:
        self.plan = plan
        self.workers = workers
        self.rows: Counter[tuple[Port, int, When]] = Counter()  # (input, row id, time) -> copies in flight
        self.owner_of_key: dict[int, int] = {}
        self.consumed = 0
        self.most_minimal = 0
        self._live: defaultdict[Port, Counter[When]] = defaultdict(Counter)
        self._least: dict[Port, Chain] = {}
        self._changed: set[Port] = set()
        self._paths = paths(plan)
        self._origins: defaultdict[Port, list[Port]] = defaultdict(list)
        self._targets: defaultdict[Port, list[Port]] = defaultdict(list)
        for origin, target in self._paths:
            self._origins[target].append(origin)
            self._targets[origin].append(target)
        self._bounds: dict[Port, Chain] = dict.fromkeys(plan.ports(), ())

    def change(self, port: Port, time: When, delta: int) -> None:
        """Count live pointstamps."""
        counts = self._live[port]
        counts[time] += delta
        if counts[time] < 0:
            raise Violation(f"{counts[time]} live pointstamps at {port}, time {time}")
        if not counts[time]:
            del counts[time]
        self._changed.add(port)

    def sent(self, output: Port, row_ids: Iterable[int], time: When) -> None:
        """Rows leave an output: from now on they may arrive at each input that it feeds."""
        arrivals = self.plan.arrivals(output, time)
        for row_id in row_ids:
            for target, pact, arrival in arrivals:
                copies = self.workers if isinstance(pact, Broadcast) else 1
                self.rows[target, row_id, arrival] += copies
                self.change(target, arrival, copies)

    def arrived(
        self, target: Port, row_ids: list[int], keys: list[int], time: When, worker: int, frontier: Chain
    ) -> None:
        """A message is taken: each row was on its way with that time, no more often than sent, at a time still open,
        to its key's owner."""
        if is_past(frontier, time):
            raise Violation(f"worker {worker}: a message at {time} arrived at {target}, whose frontier was {frontier}")
        exchanged = isinstance(self.plan.operators[target[1]].inputs[target[2]][1], Exchange)
        for row_id, key in zip(row_ids, keys, strict=True):
            if self.rows[target, row_id, time] <= 0:
                raise Violation(
                    f"worker {worker}: row {row_id} at {time} arrived at {target} without having been sent, or twice"
                )
            self.rows[target, row_id, time] -= 1
            if exchanged and self.owner_of_key.setdefault(key, worker) != worker:
                raise Violation(f"key {key} went to workers {self.owner_of_key[key]} and {worker}")

    def finished(self, target: Port, rows: int, time: When) -> None:
        """A taken message's reference is dead: what it allowed is either held as tokens or sent by now."""
        self.change(target, time, -rows)
        self.consumed += rows

    def bounds(self) -> dict[Port, Chain]:
        """For each port the least times that live tokens and messages can still bring there."""
        stale: set[Port] = set()
        for port in self._changed:
            least = minimal(self._live[port])
            if least != self._least.get(port, ()):
                self._least[port] = least
                stale.update(self._targets[port])
        self._changed.clear()
        for target in stale:
            self._bounds[target] = minimal(
                applied(image, time)
                for origin in self._origins[target]
                for time in self._least.get(origin, ())
                for image in self._paths[origin, target]
            )
            self.most_minimal = max(self.most_minimal, len(self._bounds[target]))
        return self._bounds
