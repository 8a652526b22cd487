"""How late a compiled source was, look by look: a kernel notes it, and the backlog in Python is told a few at once."""

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, room
from tokenring.nexmark.measure.verdict import BEHIND_NS, LOOK_EVERY_NS, Backlog

_MOST_LOOKS = 10


class LooksState(Record):
    """When the next look is, how many were noted, and for each when it was, and how late the oldest event."""

    next_look_ns: int
    count: int
    pairs: Words = room(2 * _MOST_LOOKS)


@kernel
def look(looks: LooksState, now_ns: int, late_ns: int) -> bool:
    """Note how late the oldest event is; whether the backlog is to be told now (`Looks.tell`). There is
    room for one more if it was told whenever it was to be."""
    at = 2 * looks.count
    looks.pairs[at], looks.pairs[at + 1] = now_ns, late_ns
    looks.count += 1
    looks.next_look_ns = now_ns + LOOK_EVERY_NS
    return late_ns > BEHIND_NS or looks.count == _MOST_LOOKS


@kernel
def has_looked(looks: LooksState) -> bool:
    """Whether there is something that the backlog was not told."""
    return looks.count > 0


class Looks:
    """What one worker's source saw and has not told: `state` is for kernels."""

    def __init__(self, backlog: Backlog) -> None:
        self.state = LooksState()
        self._backlog = backlog

    def tell(self) -> bool:
        """Tell the backlog; whether the run is lost."""
        pairs = self.state.pairs[: 2 * self.state.count].tolist()
        self.state.count = 0
        return any([self._backlog.note(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)])
