"""The oracle: every live token and every row in flight, and what they imply for each frontier, without the engine's
help."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from engine import COMPLETE, Exchange
from tests.engine.safety.plan import Plan, Port


class Violation(AssertionError):
    """The engine did what it must never do."""


class Oracle:
    """Ground truth about one dataflow on all workers. Ports without live pointstamps have no entry in `live`."""

    def __init__(self, plan: Plan, workers: int) -> None:
        self.plan = plan
        self.workers = workers
        self.live: defaultdict[Port, Counter[int]] = defaultdict(Counter)
        self.rows: Counter[tuple[Port, int, int]] = Counter()  # (input, row id, time) -> copies in flight
        self.owner_of_key: dict[int, int] = {}
        self.consumed = 0
        self._consumers = {port: plan.consumers(port) for port in plan.ports()}
        self._sources: defaultdict[Port, list[tuple[Port, int]]] = defaultdict(list)
        for (origin, target), delay in plan.delays().items():
            self._sources[target].append((origin, delay))

    def change(self, port: Port, time: int, delta: int) -> None:
        """Count live pointstamps."""
        counts = self.live[port]
        counts[time] += delta
        if counts[time] < 0:
            raise Violation(f"{counts[time]} live pointstamps at {port}, time {time}")
        if not counts[time]:
            del counts[time]

    def sent(self, output: Port, row_ids: Iterable[int], time: int) -> None:
        """Rows leave an output: from now on they may arrive at each input that it feeds."""
        for row_id in row_ids:
            for target, pact in self._consumers[output]:
                copies = self.workers if type(pact).__name__ == "Broadcast" else 1
                self.rows[target, row_id, time] += copies
                self.change(target, time, copies)

    def arrived(self, target: Port, row_ids: list[int], keys: list[int], time: int, worker: int, frontier: int) -> None:
        """A message is taken: each row was on its way with that time, no more often than sent, at a time still open,
        to its key's owner."""
        if time < frontier:
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

    def finished(self, target: Port, rows: int, time: int) -> None:
        """A taken message's reference is dead: what it allowed is either held as tokens or sent by now."""
        self.change(target, time, -rows)
        self.consumed += rows

    def bound(self, target: Port) -> int:
        """The least time that a live token or message can still bring to `target`."""
        return min(
            (min(self.live[origin]) + delay for origin, delay in self._sources[target] if self.live.get(origin)),
            default=COMPLETE,
        )

    def bounds(self) -> dict[Port, int]:
        """All bounds."""
        return {port: self.bound(port) for port in self._sources}
