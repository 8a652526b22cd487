"""The launcher's side of a budget of memory: a thread that looks at what the group takes, some times a second, says
how far each worker may grow until the next look, asks sources to pause by a flag, and has a worker end the run where
that does not help.

A thread, since the launcher's own program may be busy while the group runs. It only reads from outside, and writes the
launcher's words. Where the worker that is to end the run is in one long call and does not come to it, the thread
leaves the error for the launcher to raise.
"""

import os
from collections.abc import Callable, Sequence
from threading import Event, Thread
from time import monotonic

from tokenring.engine.budget.pressure import Pressure, Verdict
from tokenring.engine.budget.relief import CURE, too_much, trim_allocators
from tokenring.engine.budget.resident import Taken, anonymous_bytes
from tokenring.engine.budget.sizes import in_words
from tokenring.engine.errors import ConfigError, MemoryBudgetError
from tokenring.shm.memory import WORKER_LOOKS, WORKER_SEEN, Layout, Segment, peek, poke
from tokenring.shm.queues import ParkingLot, clear_flag, set_flag, wake_all

LOOK_S = 0.05
"""How often the group is looked at, at least."""
_NEAR_S = 0.004  # and at most, where it may soon be near its budget
_GROWS_BYTES_A_S = 2**31  # as fast as a worker's memory may grow: the system hands out pages no faster
STILL_S = 0.25
"""How long nothing is published before nothing is said to be under way: an operator may pace itself."""
_STEP_BYTES = 2**20  # that a worker may always grow by, or the last of the room would be looked at for ever
_AGAIN = 4  # times as long as it took: before workers are asked again to give memory back
_LOOKS = 3  # of a worker, after which it has come round at least once
_ANSWER_S = 1.0  # how long the worker that is to end the run gets to do so
_FAR_OVER = 1.25  # of the budget: it gets no more time
_A_WORKER_BYTES = 32 * 2**20  # that a worker takes of its own before it keeps anything
_NOISE_BYTES = 4 * 2**20  # of a worker: pages that it shares count a part each, until one of them writes
_LEAST_BYTES = 8 * 2**20  # that state and rows are to have, for each worker


def require_budget(budget_bytes: int, layout_in: Callable[[int], Layout]) -> int:
    """What a group takes before any row is: segment, launcher, interpreters. ConfigError where the budget cannot hold
    that and a little more. layout_in: the segment's layout in a budget of so many bytes.

    What this process's allocators keep for later goes back to the system first: forked workers would keep their rows in
    copies of those pages, which no count of their own shows.
    """
    trim_allocators()
    layout, launcher = layout_in(budget_bytes), anonymous_bytes(os.getpid())
    workers, least = layout.workers, budget_bytes
    own = launcher + workers * (_A_WORKER_BYTES + _LEAST_BYTES)
    while least < layout.total_bytes + own:  # in a larger budget queues may be larger, too
        least = ((layout.total_bytes + own) // 2**20 + 2) * 2**20  # as is said; another time this process holds more
        layout = layout_in(least)
    if least > budget_bytes:
        raise ConfigError(
            f"a budget of {in_words(budget_bytes)} cannot hold the group: {workers} worker(s) need at least "
            f"{least >> 20} MiB, of which shared memory is {in_words(layout.total_bytes)} and what this process "
            f"holds already {in_words(launcher)}; give so much (memory_bytes, --memory), or use fewer workers or "
            f"smaller queues (queue_bytes, --queue-kib)"
        )
    return layout.total_bytes + launcher + workers * _A_WORKER_BYTES


class BudgetWatch:
    """One group's watch. It begins with `start`, once all processes are there, and ends with `close`."""

    def __init__(self, segment: Segment, lot: ParkingLot, budget_bytes: int, fixed_bytes: int) -> None:
        self.failure: MemoryBudgetError | None = None
        """Why the run is to end, if no worker is there to say so."""
        self._segment, self._lot = segment, lot
        layout = segment.layout
        self._workers = layout.workers
        self._flags = segment.address(layout.congested)
        self._position = segment.address(layout.ring_write_position)
        self._looks = [segment.address(layout.worker(index) + WORKER_LOOKS) for index in range(self._workers)]
        self._seen = [segment.address(layout.worker(index) + WORKER_SEEN) for index in range(self._workers)]
        self._over = segment.address(layout.over)
        self._relief = segment.address(layout.relief)
        self._used, self._growth = segment.address(layout.used), segment.address(layout.growth)
        poke(self._used, fixed_bytes)  # until the first look: workers may ask before it
        self._pressure = Pressure(budget_bytes, fixed_bytes, self._workers * _NOISE_BYTES)
        self._taken = Taken()
        self._paused = False
        self._relieved_from: list[int] = []  # looks of each worker when it was asked to give memory back
        self._asked_at = self._relieved_at = 0.0  # when that was, and when all had done so, 0 before
        self._stands_at = -1  # the ring's position
        self._still_from: tuple[float, list[int]] = 0.0, []  # since when it stands there, and each worker's looks then
        self._deadline = 0.0
        self._ended = Event()
        self._thread = Thread(target=self._run, name="tokenring-memory", daemon=True)
        self._living: Callable[[], Sequence[tuple[int, int]]] = lambda: ()

    def start(self, living: Callable[[], Sequence[tuple[int, int]]]) -> None:
        """living: (worker, pid) of all that have not ended."""
        self._living = living
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self.look(dict(self._living()))):
            pass

    def look(self, living: dict[int, int]) -> float:
        """Look at what the launcher and the workers (pid by number) take, and see to what follows; in how many seconds
        to look again."""
        if not living:
            return LOOK_S
        taken = self._taken.look([os.getpid(), *living.values()], self._pressure.is_near(peek(self._used)))
        used = sum(taken.values()) + self._segment.layout.total_bytes
        poke(self._used, used)
        for worker, pid in living.items():
            poke(self._seen[worker], self._taken.anonymous[pid])  # after `used`, which its growth is added to
        heaviest = max(living, key=lambda worker: taken[living[worker]])
        if self._deadline:
            self._insist(used, heaviest, taken[living[heaviest]])
            return LOOK_S
        looks = [peek(address) for address in self._looks]
        position = peek(self._position)
        if position != self._stands_at:
            self._stands_at, self._still_from = position, (monotonic(), looks)
        since, then = self._still_from
        is_relieved = self._paused and _came_round(living, self._relieved_from, looks)
        is_still = monotonic() - since >= STILL_S and _came_round(living, then, looks) and self._asked_at >= since
        verdict = self._pressure.look(used, is_relieved, is_still)
        if verdict is Verdict.OVER:
            self._deadline = monotonic() + _ANSWER_S
            poke(self._over, heaviest + 1)
            wake_all(self._segment, self._lot)
        elif verdict is Verdict.PAUSE and not self._paused:
            self._paused = True
            set_flag(self._flags, self._workers)
            self._still_from = monotonic(), looks
            self._ask_for_relief(looks)
        else:
            poke(self._growth, max(_STEP_BYTES, self._pressure.left_until_pause(used) // len(living)))
            if verdict is Verdict.GO_ON:
                self._paused = False
                if clear_flag(self._flags, self._workers):  # ours, or a worker's that had grown by its part
                    wake_all(self._segment, self._lot)
            elif is_relieved:
                self._relieved_at = self._relieved_at or monotonic()
                took = self._relieved_at - self._asked_at
                if monotonic() - self._relieved_at >= max(STILL_S, _AGAIN * took):
                    self._ask_for_relief(looks)  # for what has been taken since
        soon = self._pressure.left_until_pause(used) / (_GROWS_BYTES_A_S * len(living))
        return min(LOOK_S, max(_NEAR_S, soon))

    def _ask_for_relief(self, looks: list[int]) -> None:
        self._relieved_from, self._asked_at, self._relieved_at = looks, monotonic(), 0.0
        poke(self._relief, peek(self._relief) + 1)
        wake_all(self._segment, self._lot)

    def _insist(self, used: int, heaviest: int, its_bytes: int) -> None:
        """The run is to end, and a worker has been told to say why: it may be in a long call, and take on."""
        budget_bytes = self._pressure.budget_bytes
        if self.failure is None and (monotonic() > self._deadline or used > _FAR_OVER * budget_bytes):
            self.failure = MemoryBudgetError(
                f"{too_much(used, budget_bytes)}: most is taken by worker {heaviest}, {in_words(its_bytes)}, which has "
                f"been in one call for a while and could not be asked for the operator; {CURE}"
            )


def _came_round(living: dict[int, int], then: list[int], now: list[int]) -> bool:
    """Whether each of the workers has looked often enough since."""
    return all(now[worker] >= then[worker] + _LOOKS for worker in living)
