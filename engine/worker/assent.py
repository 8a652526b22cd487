"""How the workers of a group come to do together what is asked for from outside: all at the same place among what they
declare and wait for, or none.

Worker 0 proposes, by numbers that rise. Who can do it promises to, and then declares nothing, and waits at no barrier,
before it knows what was decided: so all are at the same place. Who waits for the others already refuses. Worker 0
decides that it is done once all have promised, and that it is not if one refuses or time is up.
"""

from collections.abc import Callable
from time import monotonic_ns
from typing import Protocol

from tokenring.engine.running import Schedule
from tokenring.engine.worker.agreement import HAS_RETURNED, Agreement
from tokenring.shm.memory import WORKER_DECISION, WORKER_VOTE, Segment, peek, poke

_LOOK_NS = 500_000
_LONGEST_NS = 5_000_000_000  # that a proposal waits for votes


class Host(Protocol):
    """The worker whose assent is asked for."""

    schedule: Schedule
    agreement: Agreement

    @property
    def complete(self) -> bool:
        """Whether every count is zero."""

    def settle_after_steps(self, is_wanted: bool) -> None:
        """Call `Assent.settle` after each step, or no more."""


class Assent:
    """One worker's side."""

    def __init__(self, segment: Segment, me: int, worker: Host) -> None:
        self.promised = 0
        """The number of what this worker has promised to do, if the others do; 0: nothing."""
        self.is_acting = False
        """Whether it is doing that."""
        self.finished = 0
        """How far the program is (`Agreement.finish`), which no peer sees while something is promised or done."""
        self._me = me
        self._peers = range(segment.layout.workers)
        self._lines = [segment.address(segment.layout.worker(peer)) for peer in self._peers]
        self._worker = worker
        self._proposed = 0
        self._act: Callable[[], None] = lambda: None
        self._still: Callable[[], bool] = lambda: True
        self._until_ns = self._look_ns = 0
        self._is_abandoned = False

    def ask_only(self, workers: int) -> None:
        """The group has the first so many workers from now on."""
        self._peers = range(workers)

    def propose(self, act: Callable[[], None], still: Callable[[], bool] = lambda: True) -> int:
        """Worker 0 proposes, and promises, to call `act` after a step; the proposal's number. still: whether it can be
        done, asked when all have promised."""
        self._proposed += 1
        self._still = still
        self._until_ns, self._is_abandoned = monotonic_ns() + _LONGEST_NS, False
        self.promise(self._proposed, act)
        return self._proposed

    def promise(self, number: int, act: Callable[[], None]) -> None:
        """Call `act` after a step, if all promise to."""
        self.promised, self._act, self._look_ns = number, act, 0
        self._worker.settle_after_steps(True)
        if self.finished:
            self._worker.agreement.finish(0)
        self._vote(number, True)

    def refuse(self, number: int) -> None:
        """Let it be done by nobody."""
        self._vote(number, False)

    def abandon(self, number: int) -> None:
        """Worker 0: whoever wanted it does so no more."""
        if number == self.promised:
            self._is_abandoned = True

    def settle(self) -> None:
        """Do what was promised if that was decided, or do not if that was; else look again soon."""
        verdict = self._decide(self.promised) if self._me == 0 else self.decided(self.promised)
        if verdict is None:
            now_ns = monotonic_ns()
            if now_ns >= self._look_ns:
                self._look_ns = now_ns + _LOOK_NS
                self._worker.schedule.look_outside_after(_LOOK_NS)
            return
        self.promised = 0
        self._worker.settle_after_steps(False)
        act, self._act = self._act, lambda: None
        if verdict:
            self.is_acting = True
            act()
            self.is_acting = False
        if self.finished:
            self._worker.agreement.finish(self.finished)

    def finish(self, how_far: int = HAS_RETURNED) -> None:
        """Say how far the program is: see `Agreement.finish`."""
        self.finished = how_far
        if not (self.promised or self.is_acting):
            self._worker.agreement.finish(how_far)

    def decided(self, number: int) -> bool | None:
        """Whether it is to be done; None if nobody knows yet."""
        found = peek(self._lines[0] + 8 * WORKER_DECISION)  # SYNC assent: acquire
        return bool(found & 1) if found >> 1 == number else False if found >> 1 > number else None

    def _decide(self, number: int) -> bool | None:
        votes = [self._votes(peer, number) for peer in self._peers]
        verdict = False if False in votes else None if None in votes else self._still()
        if verdict is None and (self._is_abandoned or self._worker.complete or monotonic_ns() > self._until_ns):
            verdict = False
        if verdict is not None:
            poke(self._lines[0] + 8 * WORKER_DECISION, number << 1 | verdict)  # SYNC assent: release
        return verdict

    def _vote(self, number: int, is_for: bool) -> None:
        poke(self._lines[self._me] + 8 * WORKER_VOTE, number << 1 | is_for)  # SYNC assent: release

    def _votes(self, peer: int, number: int) -> bool | None:
        found = peek(self._lines[peer] + 8 * WORKER_VOTE)  # SYNC assent: acquire
        return bool(found & 1) if found >> 1 == number else None
