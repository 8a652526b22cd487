"""How the workers of a group wait for each other: to declare the same dataflows, to have built them, to reach a
barrier.

Each worker counts in words of its own line (release); the others wait until the count is high enough (acquire). While
it waits, a worker steps, so that nobody is held up; a worker whose program has returned is not waited for, since it
would never come.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from tokenring.engine.errors import GraphMismatchError, UsageError
from tokenring.engine.graph import Graph
from tokenring.shm.memory import (
    WORKER_BARRIERS,
    WORKER_BUILT,
    WORKER_DIGEST_EVEN,
    WORKER_FINISHED,
    WORKER_FORGOTTEN_EVEN,
    WORKER_GRAPHS,
    WORKER_INSTANT_EVEN,
    WORKER_PROCESS,
    Segment,
    peek,
    poke,
)

IS_IN_RUN, HAS_RETURNED = 1, 2
"""What a worker says of its program: it is in `Worker.run`, until all dataflows are complete; or it has returned."""

_NAP_S = 0.0005
_COMPARED = 10_000  # operators, stages and probes of which a worker tells when it does not agree


class Agreement:
    """One worker's side. `meanwhile(stepping)` is called over and over while it waits: for `spin_us` without a pause,
    then with short ones."""

    def __init__(
        self, segment: Segment, me: int, spin_us: int, meanwhile: Callable[[bool], None], settle: Callable[[], None]
    ) -> None:
        """settle: called before anything is waited for, since peers may wait for what was promised to be done first."""
        self.is_waiting = False
        """Whether it waits for peers to declare something, or at a barrier."""
        self.settle = settle
        self._segment = segment
        self._me = me
        self._spin_ns = spin_us * 1000
        self._meanwhile = meanwhile
        self._graphs = 0
        self.graphs_built = 0
        """How many dataflows all workers have built."""
        self._barriers = 0
        self.peers = self._everybody = range(segment.layout.workers)
        """Whom to wait for: everybody; nobody where one process builds for all (a simulated group)."""
        self.left = ""
        """What is said to who declares something, or waits at a barrier, where the worker has ended."""
        self.in_turn: Callable[[int], int] = lambda _: 0
        """Then what all have forgotten when this dataflow, by ordinal, is first declared."""

    def declare(self, graph: Graph, forgotten: int) -> int:
        """Wait until every worker has declared its next dataflow; returns the least `forgotten` (`Dataflows.forgotten`)
        of them. Raises UsageError on a worker that was ended; GraphMismatchError if theirs has another digest: the
        launcher, to which all of them report, says where they differ.
        """
        self.settle()
        if self.left:
            raise UsageError(self.left)
        digest, operators = graph.digest(), graph.summary_text()
        parity = self._graphs % 2  # peers are at most one graph ahead, so two words are enough
        self._graphs += 1
        self._line(self._me)[WORKER_DIGEST_EVEN + parity] = digest
        self._line(self._me)[WORKER_FORGOTTEN_EVEN + parity] = forgotten
        self._wait(WORKER_GRAPHS, self._graphs, f"declare dataflow number {self._graphs} ({operators})")
        for peer in self.peers:
            if int(self._line(peer)[WORKER_DIGEST_EVEN + parity]) != digest:
                raise GraphMismatchError(
                    f"worker {self._me} and worker {peer} built different dataflows (worker {self._me} has: "
                    f"{operators}); "
                    "every worker must declare the same operators, schemas, pacts and probes in the same order, of the "
                    "same files (let none come or change while a run begins, or give a list that was found before it)",
                    graph.declared()[:_COMPARED],
                )
        if not self.peers:
            return self.in_turn(self._graphs)
        return min(int(self._line(peer)[WORKER_FORGOTTEN_EVEN + parity]) for peer in self.peers)

    def built(self, name: str) -> None:
        """Wait until every worker has built the dataflow it declared last; without stepping, since nobody may send yet.
        """
        self._wait(WORKER_BUILT, self._graphs, f"build dataflow {name!r}", stepping=False)
        self.graphs_built = self._graphs

    def barrier(self) -> int:
        """Wait until every worker is here; returns the instant (time.monotonic_ns) at which the last one came."""
        return self.greatest(time.monotonic_ns())

    def is_so_for_any(self, is_so: bool) -> bool:
        """A barrier at which each worker says something; whether it is so for any of them."""
        return self.greatest(int(is_so)) > 0

    def greatest(
        self, told: int, what: str = "reach a barrier", holds_up: Callable[[], bool] = lambda: False
    ) -> int:
        """Wait until every worker is here; the greatest number that one tells. holds_up: whether nobody gets here out
        of `Worker.run`, since what has to be complete for that waits for this."""
        self.settle()
        if self.left:
            raise UsageError(self.left)
        parity = self._barriers % 2
        self._barriers += 1
        self._line(self._me)[WORKER_INSTANT_EVEN + parity] = told
        self._wait(WORKER_BARRIERS, self._barriers, what, holds_up=holds_up)
        return max(int(self._line(peer)[WORKER_INSTANT_EVEN + parity]) for peer in self._everybody)

    @property
    def processes(self) -> list[int]:
        """The numbers of all workers' processes, once they have built something."""
        return [int(self._line(peer)[WORKER_PROCESS]) for peer in self._everybody]

    def wait_only_for(self, workers: int) -> None:
        """The group has the first so many workers from now on."""
        self.peers = self._everybody = range(workers)

    def finish(self, how_far: int) -> None:
        """Say that the program has returned, so that nobody waits for this worker any more, or is in `Worker.run`; or,
        by 0, that it declares something all the same."""
        poke(self._address(self._me) + 8 * WORKER_FINISHED, how_far)  # SYNC counted-wait: release

    def _line(self, worker: int) -> np.ndarray:
        return self._segment.words[self._segment.layout.worker(worker) :]

    def _address(self, worker: int) -> int:
        return self._segment.address(self._segment.layout.worker(worker))

    def _wait(
        self, word: int, count: int, what: str, stepping: bool = True, holds_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Set our word to `count` and wait until every peer's is at least that."""
        self.is_waiting = True
        poke(self._address(self._me) + 8 * word, count)  # SYNC counted-wait: release
        spins_until_ns = time.monotonic_ns() + self._spin_ns
        for peer in self.peers:
            line = self._address(peer)
            while peek(line + 8 * word) < count:  # SYNC counted-wait: acquire
                # Looked at twice, since it may have counted and then finished after the first look.
                finished = peek(line + 8 * WORKER_FINISHED)  # SYNC counted-wait: acquire
                is_missed = finished == HAS_RETURNED or (finished == IS_IN_RUN and holds_up())
                if is_missed and peek(line + 8 * word) < count:
                    how = "has returned" if finished == HAS_RETURNED else "is in worker.run()"
                    raise GraphMismatchError(
                        f"worker {self._me} waits for all workers to {what}, but worker {peer}'s program {how} "
                        "without that; every worker must run the same program"
                    )
                self._meanwhile(stepping)
                if time.monotonic_ns() >= spins_until_ns:
                    time.sleep(_NAP_S)
        self.is_waiting = False


def first_difference(declared: Mapping[int, Sequence[str]]) -> str:
    """Where what two workers have declared parts ways, in words; "" if that cannot be told. By worker, as in
    GraphMismatchError.
    """
    (one, mine), *others = sorted(declared.items())
    for other, theirs in others:
        for number, pair in enumerate(zip_longest(mine, theirs), 1):
            if pair[0] != pair[1]:
                here, there = (what or "nothing more" for what in pair)
                return f"number {number} is {here} on worker {one}, but {there} on worker {other}"
    return ""
