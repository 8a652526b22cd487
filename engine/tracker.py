"""The tracker: live counts and what they imply, the frontier of every watched target.

Totally ordered times: a target's frontier is the (min,+) product of the locations' least positive times with the path
summaries. Only locations whose counts changed are looked at, and only operators whose notify policy asks for it are
woken. Safety: a frontier never passes a time that a counted token or message could still bring there; it never moves
back.
"""

from itertools import pairwise

import numpy as np

from engine import counts as table
from engine.counts import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    BROKEN_LOCATION,
    DIRTY_COUNT,
    FORWARD_BEGIN,
    FORWARD_END,
    FRONTIER,
    IS_DIRTY,
    IS_REACHED,
    LEAST,
    LISTS_ADDRESS,
    LOCATION_CAPACITY,
    LOCATION_WORDS,
    LOCATIONS_ADDRESS,
    NONZERO,
    OPERATOR,
    OPERATORS_ADDRESS,
    PATHS_ADDRESS,
    PATHS_CAPACITY,
    WOKEN_COUNT,
    least_positive,
)
from engine.errors import BrokenInvariant
from engine.location import NOTIFY_CODES, Notify
from engine.reachability import Reachability
from engine.timestamp import COMPLETE
from shm.kernels import address_of, kernel, words_at

# Words of an operator.
POLICY, HOLDING, IS_WOKEN = range(3)
OPERATOR_WORDS = 4
_NEVER, _IF_TOKEN, _ALWAYS = (NOTIFY_CODES[policy] for policy in (Notify.NEVER, Notify.IF_TOKEN, Notify.ALWAYS))


@kernel
def propagate(state):  # type: ignore[no-untyped-def]
    """Bring frontiers up to date with the counts changed since the last call; returns how many operators are woken
    (listed in the last third of `lists`), or -1 if a frontier would move back (its location is in
    state[BROKEN_LOCATION])."""
    capacity = state[LOCATION_CAPACITY]
    locations = words_at(state[LOCATIONS_ADDRESS], capacity * LOCATION_WORDS)
    lists = words_at(state[LISTS_ADDRESS], 3 * capacity)
    paths = words_at(state[PATHS_ADDRESS], 2 * state[PATHS_CAPACITY])
    operators = words_at(state[OPERATORS_ADDRESS], capacity * OPERATOR_WORDS)
    reached = 0
    for i in range(state[DIRTY_COUNT]):
        location = lists[i]
        at = location * LOCATION_WORDS
        locations[at + IS_DIRTY] = 0
        least = least_positive(state, location)
        if least != locations[at + LEAST]:
            locations[at + LEAST] = least
            for path in range(locations[at + FORWARD_BEGIN], locations[at + FORWARD_END]):
                target = paths[2 * path]
                if locations[target * LOCATION_WORDS + IS_REACHED] == 0:
                    locations[target * LOCATION_WORDS + IS_REACHED] = 1
                    lists[capacity + reached] = target
                    reached += 1
    state[DIRTY_COUNT] = 0
    woken = 0
    for i in range(reached):
        target = lists[capacity + i]
        at = target * LOCATION_WORDS
        locations[at + IS_REACHED] = 0
        frontier = COMPLETE
        for path in range(locations[at + BACKWARD_BEGIN], locations[at + BACKWARD_END]):
            least = locations[paths[2 * path] * LOCATION_WORDS + LEAST]
            if least != COMPLETE and least + paths[2 * path + 1] < frontier:
                frontier = least + paths[2 * path + 1]
        before = locations[at + FRONTIER]
        if frontier == before:
            continue
        if frontier < before:
            state[BROKEN_LOCATION] = target
            return -1
        locations[at + FRONTIER] = frontier
        operator = locations[at + OPERATOR]
        policy = operators[operator * OPERATOR_WORDS + POLICY]
        if policy == _ALWAYS or (policy == _IF_TOKEN and operators[operator * OPERATOR_WORDS + HOLDING] > 0):
            if operators[operator * OPERATOR_WORDS + IS_WOKEN] == 0:
                operators[operator * OPERATOR_WORDS + IS_WOKEN] = 1
                lists[2 * capacity + woken] = operator
                woken += 1
    for i in range(woken):
        operators[lists[2 * capacity + i] * OPERATOR_WORDS + IS_WOKEN] = 0
    state[WOKEN_COUNT] = woken
    return woken


class Tracker:
    """Owner of one worker's tables. Locations and operators are numbered from 0 in the order they are added."""

    def __init__(self, capacity: int = 64) -> None:
        self.state = np.zeros(table.STATE_WORDS, np.int64)
        self.state_view = self.state.data
        self.locations_used = 0
        self.operators_used = 0
        self._locations = np.zeros(0, np.int64)
        self._pool = np.zeros(2, np.int64)
        self._operators = np.zeros(0, np.int64)
        self._lists = np.zeros(0, np.int64)
        self._paths = np.zeros(2, np.int64)
        self._paths_used = 0
        self._resize_locations(capacity)
        self._resize_pool(capacity * table.FIRST_REGION)
        self._link()

    def _resize_locations(self, capacity: int) -> None:
        locations = np.zeros(capacity * LOCATION_WORDS, np.int64)
        locations[: len(self._locations)] = self._locations
        fresh = locations.reshape(capacity, LOCATION_WORDS)[len(self._locations) // LOCATION_WORDS :]
        fresh[:, LEAST] = COMPLETE
        operators = np.zeros(capacity * OPERATOR_WORDS, np.int64)
        operators[: len(self._operators)] = self._operators
        lists = np.zeros(3 * capacity, np.int64)
        dirty = int(self.state[DIRTY_COUNT])
        lists[:dirty] = self._lists[:dirty]
        self._locations, self._operators, self._lists = locations, operators, lists

    def _resize_pool(self, entries: int) -> None:
        pool = np.zeros(2 * entries, np.int64)
        pool[: len(self._pool)] = self._pool
        self._pool = pool

    def _link(self) -> None:
        """Tell the kernels where the tables are now, and give Python its quick views of them."""
        state = self.state
        state[table.LOCATIONS_ADDRESS] = address_of(self._locations)
        state[table.LOCATION_CAPACITY] = len(self._locations) // LOCATION_WORDS
        state[table.POOL_ADDRESS] = address_of(self._pool)
        state[table.POOL_CAPACITY] = len(self._pool) // 2
        state[table.OPERATORS_ADDRESS] = address_of(self._operators)
        state[table.OPERATOR_CAPACITY] = len(self._operators) // OPERATOR_WORDS
        state[table.LISTS_ADDRESS] = address_of(self._lists)
        state[table.PATHS_ADDRESS] = address_of(self._paths)
        state[table.PATHS_CAPACITY] = len(self._paths) // 2
        self.location_view = self._locations.data
        self.operator_view = self._operators.data
        self.list_view = self._lists.data

    def grow(self, location: int = 0) -> None:
        """Make room after a kernel asked for it: twice the pool, and tables that hold `location`."""
        capacity = len(self._locations) // LOCATION_WORDS
        if location >= capacity:
            self._resize_locations(max(2 * capacity, location + 1))
        else:
            self._resize_pool(len(self._pool))
        self._link()

    def add_operator(self, policy: Notify) -> int:
        """A new operator with no locations yet; returns its number."""
        number = self.operators_used
        if number >= len(self._operators) // OPERATOR_WORDS:
            self.grow(number)
        self._operators[number * OPERATOR_WORDS + POLICY] = NOTIFY_CODES[policy]
        self.operators_used += 1
        return number

    def add_location(self, operator: int) -> int:
        """A new location that belongs to `operator`; returns its number. Its frontier starts at time 0."""
        number = self.locations_used
        if number >= len(self._locations) // LOCATION_WORDS:
            self.grow(number)
        self._locations[number * LOCATION_WORDS + OPERATOR] = operator
        self.locations_used += 1
        return number

    def connect(self, reachability: Reachability) -> None:
        """Compile the paths of a new dataflow's locations to its watched targets (totally ordered: one delay a pair).
        """
        forward: dict[int, list[tuple[int, int]]] = {}
        runs: list[tuple[int, int, int, list[tuple[int, int]]]] = []
        for target in reachability.targets():
            backward = []
            for origin, summaries in reachability.sources(target).items():
                delay = min(summary.delay for summary in summaries)
                backward.append((origin, delay))
                forward.setdefault(origin, []).append((target, delay))
            runs.append((target, BACKWARD_BEGIN, BACKWARD_END, backward))
        runs += [(origin, FORWARD_BEGIN, FORWARD_END, pairs) for origin, pairs in forward.items()]
        flat = [word for _, _, _, pairs in runs for pair in pairs for word in pair]
        self._paths = np.concatenate([self._paths[: 2 * self._paths_used], np.array([*flat, 0, 0], np.int64)])
        for location, begin, end, pairs in runs:
            self._locations[location * LOCATION_WORDS + begin] = self._paths_used
            self._paths_used += len(pairs)
            self._locations[location * LOCATION_WORDS + end] = self._paths_used
        self._link()

    def change(self, location: int, time: int, delta: int) -> None:
        """Apply one change to the counts (at build time; batches from the ring are applied by the progress channel's
        kernel).
        """
        while table.apply_change(self.state, location, time, delta) == table.NEEDS_ROOM:
            self.grow(location)

    def propagate(self) -> list[int]:
        """Bring frontiers up to date; the operators woken by it."""
        woken = propagate(self.state)
        if woken < 0:
            raise self.broken()
        return self.woken(woken)

    def woken(self, count: int) -> list[int]:
        """The operators that the last propagation woke."""
        start = 2 * self.state_view[LOCATION_CAPACITY]
        return self.list_view[start : start + count].tolist()

    def broken(self) -> BrokenInvariant:
        """The error for a frontier that would have moved back."""
        location = int(self.state[BROKEN_LOCATION])
        return BrokenInvariant(f"the frontier at location {location} would move back from {self.frontier(location)}")

    def frontier(self, target: int) -> int:
        """The frontier of a watched target as an integer; COMPLETE if no time can arrive any more."""
        return self.location_view[target * LOCATION_WORDS + FRONTIER]

    @staticmethod
    def frontier_word(target: int) -> int:
        """Where a target's frontier stands in `location_view` (which is replaced when tables grow)."""
        return target * LOCATION_WORDS + FRONTIER

    def set_holding(self, operator: int, tokens: int) -> None:
        """Say how many tokens an operator holds (for the policy `if_token`)."""
        self.operator_view[operator * OPERATOR_WORDS + HOLDING] = tokens

    @property
    def complete(self) -> bool:
        """Whether every count of every location is zero: nothing can happen any more."""
        return self.state_view[NONZERO] == 0

    def entries(self, location: int) -> list[tuple[int, int]]:
        """The nonzero (time, count) pairs at a location."""
        row = self._locations[location * LOCATION_WORDS : (location + 1) * LOCATION_WORDS]
        first = int(row[table.REGION])
        pairs = self._pool[2 * (first + int(row[table.BEGIN])) : 2 * (first + int(row[table.END]))].reshape(-1, 2)
        return [(int(time), int(count)) for time, count in pairs if count]

    def check(self) -> None:
        """Raise AssertionError unless windows are sorted, inside their regions, and NONZERO counts them."""
        nonzero = 0
        for location in range(len(self._locations) // LOCATION_WORDS):
            row = self._locations[location * LOCATION_WORDS : (location + 1) * LOCATION_WORDS]
            assert 0 <= row[table.BEGIN] <= row[table.END] <= row[table.REGION_CAPACITY], location
            entries = self.entries(location)
            assert all(left[0] < right[0] for left, right in pairwise(entries)), location
            nonzero += len(entries)
        assert nonzero == self.state[NONZERO], (nonzero, int(self.state[NONZERO]))
