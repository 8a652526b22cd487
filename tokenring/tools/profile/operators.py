"""Which compiled operator runs: sampled beside py-spy, for which all of them are one kernel, and told by its share.

Two samplers that know nothing of each other cannot be joined sample by sample. So the samples in which py-spy saw the
inner loop are shared out, for each second, as what was seen in the loop in that second: the shares are measured, which
of them is whose is not.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from tokenring.tools.profile.frame import Frame
from tokenring.tools.profile.kernel_calls import kernel_of, shortened

if TYPE_CHECKING:
    from tokenring.engine.ask import Doing, RunningNow
    from tokenring.tools.profile.stacks import Stack

_LOOPS = {("kernel turn", "engine/native/loop.py"), ("kernel run_once", "engine/native/runs.py")}
_EXCHANGE, _WAIT = ("tokenring.engine.native.exchanging", "exchange_now"), ("tokenring.engine.native.loop", "turn")
WAITS_IN_LOOP = "waits for work"


@dataclass
class Seen:
    """What a worker's inner loop was seen to do: a frame for each look at which it was in there, and when, on the
    monotonic clock; no frame for the loop itself."""

    looks: list[tuple[float, Frame | None]] = field(default_factory=list)
    until_s: float = 0.0
    denied: bool = False
    """Whether nothing was seen because we may not look."""


class Looking:
    """A thread of ours that looks at workers, as often as py-spy does."""

    def __init__(self, frequency: int) -> None:
        self._pause_s = 1 / frequency
        self._watched: list[tuple[RunningNow, Seen]] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def at(self, process: int) -> Seen:
        """Look at a worker from now on, until it ends; what is seen comes to what is returned."""
        from tokenring.engine.ask import RunningNow

        seen = Seen()
        self._watched.append((RunningNow(process), seen))
        if self._thread is None:  # not before workers are there: who forks has no threads
            self._thread = threading.Thread(target=self._look, name="tokenring-profile", daemon=True)
            self._thread.start()
        return seen

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        for worker, _ in self._watched:
            worker.close()

    def _look(self) -> None:
        over = set[int]()
        while not self._ended.wait(self._pause_s):
            for number, (worker, seen) in enumerate(self._watched):
                if number in over:
                    continue
                now_s = time.monotonic()
                try:
                    doing = worker.look()
                except (OSError, ValueError) as error:
                    seen.denied = isinstance(error, PermissionError)
                    over.add(number)
                    continue
                seen.until_s = now_s
                if doing is not None:
                    seen.looks.append((now_s, _frame(doing)))


@cache
def _frame(doing: Doing) -> Frame | None:
    from tokenring.engine.ask import EXCHANGE, LOOP, WAIT

    if doing == LOOP:
        return None
    if doing == WAIT:
        return kernel_of(*_WAIT)._replace(name=WAITS_IN_LOOP)
    return kernel_of(*_EXCHANGE) if doing == EXCHANGE else Frame(doing.what, shortened(doing.file), doing.line)


def share_out(stacks: Sequence[Stack], seen: Seen, seconds_a_sample: float) -> list[Stack]:
    """The stacks, those in the inner loop with a frame more: what it was seen to do, as often as it was seen to. The
    last stack was sampled when the worker was last seen."""
    by_second = defaultdict[int, Counter[Frame | None]](Counter)
    for at_s, frame in seen.looks:
        by_second[int(seen.until_s - at_s)][frame] += 1
    always = sum(by_second.values(), Counter[Frame | None]())
    in_loop = defaultdict[int, list[int]](list)
    for number, stack in enumerate(stacks):
        if stack and stack[-1][:2] in _LOOPS:
            in_loop[int((len(stacks) - number - 0.5) * seconds_a_sample)].append(number)
    told = list(stacks)
    for second, numbers in in_loop.items():
        for number, frame in zip(numbers, spread(by_second.get(second, always), len(numbers)), strict=False):
            if frame is not None:
                told[number] = (*stacks[number], frame)
    return told


def spread(counts: Counter[Frame | None], many: int) -> list[Frame | None]:
    """So many frames in proportion to their counts, evenly mixed; none if there are no counts."""
    total = sum(counts.values())
    if total == 0:
        return []
    exact = {frame: many * count / total for frame, count in counts.items()}
    whole = {frame: int(share) for frame, share in exact.items()}
    left = sorted(exact, key=lambda frame: whole[frame] - exact[frame])[: many - sum(whole.values())]
    for frame in left:
        whole[frame] += 1
    places = [((at + 0.5) / share, number, frame)
              for number, (frame, share) in enumerate(whole.items()) for at in range(share)]  # fmt: skip
    return [frame for _, _, frame in sorted(places, key=lambda place: place[:2])]
