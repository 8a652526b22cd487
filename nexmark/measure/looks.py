"""How late a compiled source was, look by look: a kernel notes it, and the backlog in Python is told a few at once."""

import numpy as np

from tokenring.engine import kernel
from tokenring.nexmark.measure.verdict import BEHIND_NS, LOOK_EVERY_NS, Backlog

NEXT_LOOK_NS, _LOOKS, _FIRST = range(3)
_MOST_LOOKS = 10
LOOKS_WORDS = _FIRST + 2 * _MOST_LOOKS


@kernel
def look(looks, now_ns, late_ns):  # type: ignore[no-untyped-def]
    """Note how late the oldest event is; whether the backlog is to be told now (`Looks.tell`). looks: int64
    (LOOKS_WORDS,), which has room for one more if it was told whenever it was to be."""
    at = _FIRST + 2 * looks[_LOOKS]
    looks[at], looks[at + 1] = now_ns, late_ns
    looks[_LOOKS] += 1
    looks[NEXT_LOOK_NS] = now_ns + LOOK_EVERY_NS
    return late_ns > BEHIND_NS or looks[_LOOKS] == _MOST_LOOKS


@kernel
def has_looked(looks):  # type: ignore[no-untyped-def]
    """Whether there is something that the backlog was not told."""
    return looks[_LOOKS] > 0


class Looks:
    """What one worker's source saw and has not told: `words` is for kernels."""

    def __init__(self, backlog: Backlog) -> None:
        self.words = np.zeros(LOOKS_WORDS, np.int64)
        self._backlog = backlog

    def tell(self) -> bool:
        """Tell the backlog; whether the run is lost."""
        end = _FIRST + 2 * int(self.words[_LOOKS])
        self.words[_LOOKS] = 0
        pairs = self.words[_FIRST:end].tolist()
        return any([self._backlog.note(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)])
