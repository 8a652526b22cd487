"""A worker's side of a budget of memory: it shows that it comes round, has sources pause once it has grown by as much
as the launcher allowed, gives back what it does not use when it is asked to, and ends the run when that is its part,
with an error that names its heaviest operator; or before one large allocation that would not fit.
"""

import ctypes
import gc
import os
import sys
from contextlib import suppress
from time import monotonic_ns, sleep

from tokenring.engine.budget.resident import OwnAnonymous, own_bytes
from tokenring.engine.budget.sizes import in_words
from tokenring.engine.budget.weights import Weight, weights
from tokenring.engine.errors import MemoryBudgetError
from tokenring.engine.explain import Inspection
from tokenring.shm.memory import WORKER_LOOKS, WORKER_SEEN, Segment, peek, poke
from tokenring.shm.queues import set_flag

_FIRST_BYTES = 8 * 2**20  # that a worker may grow by before the launcher has looked at it for the first time
_BETWEEN_NS = 1_000_000  # looks at its own growth, some µs each
_LARGE_BYTES = 16 * 2**20  # smaller ones are left to the looks
_UNTIL_SEEN_S = 0.15  # until the launcher has looked twice
_NAMED = 3
_ROWS_BYTES = 2**12  # that are named as rows that wait: a queue without any takes something too
_PART = 0.05  # of what a worker takes, which an operator keeps at least to be named
CURE = (
    "give the run more (memory_bytes, --memory), or have operators keep less: windows, bounds of time, fewer keys, "
    "fewer columns"
)

_reliefs: list["Relief"] = []  # this process's, where it is a worker of a group with a budget


def require_memory(size_bytes: int) -> None:
    """To be called before so many bytes are taken at once, by an operator's table, say: MemoryBudgetError if the
    group's budget cannot hold them. The engine puts the operator's name before it. Costs nothing below 16 MiB, and
    nothing in a group without a budget."""
    if size_bytes >= _LARGE_BYTES and _reliefs:
        _reliefs[-1].require(size_bytes)


class Relief:
    """What a worker does for the group's budget, between its steps."""

    def __init__(self, segment: Segment, inspection: Inspection, budget_bytes: int) -> None:
        layout, index = segment.layout, inspection.index
        self._inspection = inspection
        self._budget_bytes = budget_bytes
        self._looks_address = segment.address(layout.worker(index) + WORKER_LOOKS)
        self._over_address = segment.address(layout.over)
        self._relief_address = segment.address(layout.relief)
        self._used_address = segment.address(layout.used)
        self._seen_address = segment.address(layout.worker(index) + WORKER_SEEN)
        self._growth_address = segment.address(layout.growth)
        self._flags, self._short = segment.address(layout.congested), layout.workers
        self._own = OwnAnonymous()
        self._begun_bytes = self._own.bytes()
        self._looks = self._given = self._next_ns = 0
        _reliefs[:] = [self]

    def look(self) -> None:
        """Do what the launcher asks for. MemoryBudgetError if the run is to end, and this worker to say why."""
        asked = peek(self._relief_address)
        if asked != self._given:
            self._given = asked
            give_back()
        if peek(self._over_address) == self._inspection.index + 1:
            used = peek(self._used_address)
            who = _heaviest(self._inspection.index, weights(self._inspection.operators))
            raise MemoryBudgetError(f"{too_much(used, self._budget_bytes)}: {who}; {CURE}")
        self._looks += 1
        poke(self._looks_address, self._looks)
        now_ns = monotonic_ns()
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + _BETWEEN_NS
            if self._grown_bytes() > (peek(self._growth_address) or _FIRST_BYTES):
                set_flag(self._flags, self._short)  # the launcher may be late: it takes it back once it has looked

    def require(self, size_bytes: int) -> None:
        """See `require_memory`."""
        if self._has_room(size_bytes):
            return
        give_back()
        sleep(_UNTIL_SEEN_S)
        if not self._has_room(size_bytes):
            used, budget = in_words(self._used_bytes()), in_words(self._budget_bytes)
            who = _heaviest(self._inspection.index, weights(self._inspection.operators))
            raise MemoryBudgetError(
                f"it is to take {in_words(size_bytes)} more at once, where the run takes {used} of memory already, and "
                f"its budget is {budget}: {who}; {CURE}"
            )

    def _has_room(self, size_bytes: int) -> bool:
        return self._used_bytes() + size_bytes <= self._budget_bytes

    def _used_bytes(self) -> int:
        """What the group takes: as the launcher saw it last, and what this worker has grown by since."""
        grown = self._grown_bytes()  # first: a look between the two counts what has grown twice, and never not at all
        return peek(self._used_address) + grown

    def _grown_bytes(self) -> int:
        """What this worker has grown by since the launcher's last look at it, or since it began."""
        return max(0, self._own.bytes() - (peek(self._seen_address) or self._begun_bytes))


def too_much(used_bytes: int, budget_bytes: int) -> str:
    """That the group takes more than its budget, or all but a rest of it."""
    return f"the run takes {in_words(used_bytes)} of memory, and its budget is {in_words(budget_bytes)}"


def _heaviest(worker: int, found: list[Weight]) -> str:
    own = own_bytes(os.getpid())
    if not found or found[0].bytes < _PART * own:
        return f"most is kept on worker {worker}, by its program, or where no operator's state leads to it"
    first, *others = found
    rows_bytes = first.waiting_bytes
    waiting = f" ({in_words(rows_bytes)} of it rows that wait at its inputs)" if rows_bytes >= _ROWS_BYTES else ""
    room = ", room for rows to come included" if first.bytes > own else ""  # pages that nobody has written to
    text = f"most is kept by operator {first.operator!r} on worker {worker}, {in_words(first.bytes)}{waiting}{room}"
    more = [f"{one.operator!r} {in_words(one.bytes)}" for one in others[: _NAMED - 1] if one.bytes * 20 > first.bytes]
    return f"{text}, besides {' and '.join(more)}" if more else text


def give_back() -> None:
    """Find garbage, and give the system back what allocators keep for later."""
    gc.collect()
    trim_allocators()


def trim_allocators() -> None:
    """Give the system back what allocators keep for later."""
    arrow = sys.modules.get("pyarrow")
    with suppress(Exception):
        if arrow is not None:
            arrow.default_memory_pool().release_unused()
    with suppress(AttributeError):  # of C libraries other than GNU's
        ctypes.CDLL(None).malloc_trim(0)
