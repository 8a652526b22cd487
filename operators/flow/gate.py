"""The rule by which content is let into a region: words, and the kernels that compiled and Python's entries share.

Contract. What is let in counts against a quota until the region is seen empty: no message is under way to any of its
operators, on any worker. Then a new *generation* begins. What has passed the inputs within the region since then
(METERED) bounds what this worker can have there, and the quota is chosen so that METERED stays below MOST. While
nothing was ever too much, few messages are as good as none: not more than half of MOST can be in them.
Nothing here looks at a frontier: operators take messages without one, so a region becomes empty though time stands
still in it, and what operators keep in state holds nobody back. An operator that leaves messages untaken until it knows
more could yet wait for what is held back here: where nothing moves for a while, a little is let in all the same, and
more each time.
"""

from collections.abc import Callable

import numpy as np

from tokenring.engine import COMPLETE, WORDS, UnderWay, boolean, int64, kernel, void
from tokenring.engine.compiled import (
    address_of,
    is_congested,
    messages_under_way,
    print_of,
    round_of,
    sum_of_tokens,
    words_at,
)

ROWS, BYTES, TIMES = range(3)
"""What is counted: rows, the bytes of their columns (8 a value, and the texts, where METERED), distinct times."""

# MOST: of the unit, that may be in the region. QUOTA: so much of it may be let in in a generation here. METERED: so
# much has come to the region's inputs from this worker in this generation. SHARES: entries. MANNER: see below. ASKED:
# the sum of the tokens at PRESSURE as last seen: how often all were asked to halve their quotas. NEXT_ASK: at what
# METERED this worker asks. KEEPER: the operator that does, by its row; -1: none.
# LAST_ROUND: the round in which something was let in last, whose counts are known when it is over.
# LARGEST: what the largest message counts that passed the inputs from here, lately; LARGEST_NOW: in this generation.
# NEXTS: the address of the times of what waits before each entry, COMPLETE where nothing does.
(
    LOCATIONS,
    LOCATION_COUNT,
    UNIT,
    MOST,
    QUOTA,
    SHARES,
    GENERATION,
    LET_IN,
    METERED,
    MANNER,
    PRESSURE,
    ASKED,
    NEXT_ASK,
    KEEPER,
    KEEPER_IS_UP,
    HELD_SINCE_NS,
    PRINT,
    PATIENCE_NS,
    ESCAPE_ROWS,
    HOLDS,
    ESCAPES,
    PEAK,
    LAST_ROUND,
    LARGEST,
    LARGEST_NOW,
    NEXTS,
    GATE_WORDS,
) = range(27)

BEGINNING, SETTLED, CAREFUL = range(3)
"""Manners: quotas grow fast, until they are what fits; nothing was too much so far; something was."""
_FIRST_PATIENCE_NS, _MOST_PATIENCE_NS = 20_000_000, 1_000_000_000
_MOST_ESCAPE_ROWS = 1024
_A_RUNS_PART = 3  # as a shift
_FIRST_PART = 14  # as a shift: a region that makes so many thousand rows of each is within MOST from the start


@kernel
def locations_of_gate(gate):  # type: ignore[no-untyped-def]
    """The region's inputs."""
    return words_at(gate[LOCATIONS], gate[LOCATION_COUNT])


@kernel
def _learn(gate):  # type: ignore[no-untyped-def]
    """The region is empty: what the generation that ends says of the next one's quota."""
    let_in, metered, most, quota = gate[LET_IN], gate[METERED], gate[MOST], gate[QUOTA]
    if gate[UNIT] == TIMES or let_in == 0:
        return
    fitting = most
    if metered > 0:
        fitting = max(1, min(most, int(float(most) / metered * let_in)))
    if metered > most:
        quota = min(quota, fitting)
    elif 4 * let_in >= quota:
        if gate[MANNER] == BEGINNING:
            grown = quota << _A_RUNS_PART  # what one run may let in of it is then no more than a generation brought
        elif gate[MANNER] == SETTLED:
            grown = 2 * quota
        else:
            grown = quota + max(1, quota >> 3)
        quota = max(1, min(grown, fitting))
    if metered > 2 * most:
        gate[MANNER] = CAREFUL
    elif gate[MANNER] == BEGINNING and 2 * quota > fitting:
        gate[MANNER] = SETTLED
    gate[QUOTA] = quota


@kernel
def _heed(world, gate):  # type: ignore[no-untyped-def]
    """Halve the quota as often as others have asked since this was last looked at."""
    if gate[PRESSURE] < 0:
        return
    asked = sum_of_tokens(world, gate[PRESSURE])
    if asked > gate[ASKED]:
        gate[QUOTA] = max(1, gate[QUOTA] >> min(62, asked - gate[ASKED]))
        gate[MANNER], gate[ASKED] = CAREFUL, asked


@kernel(boolean(int64, WORDS))
def renew(world, gate):  # type: ignore[no-untyped-def]
    """Begin a generation if no message is under way in the region, or, where nothing was ever too much, so few that
    they have no more than half of what may be there; and no row waits for room in a queue. Whether that is so."""
    if gate[LAST_ROUND] == round_of(world) or is_congested(world):
        return False
    messages = messages_under_way(world, locations_of_gate(gate))
    if messages > 0 and (gate[MANNER] != SETTLED or messages > gate[MOST] // (2 * max(1, gate[LARGEST]))):
        return False
    gate[PEAK] = max(gate[PEAK], gate[METERED])
    if messages == 0:
        _learn(gate)
    _heed(world, gate)
    gate[LARGEST] = max(gate[LARGEST_NOW], gate[LARGEST] - gate[LARGEST] // 8)
    gate[LARGEST_NOW] = 0
    gate[GENERATION] += 1
    gate[LET_IN] = gate[METERED] = gate[HELD_SINCE_NS] = 0
    gate[NEXT_ASK], gate[PATIENCE_NS], gate[ESCAPE_ROWS] = gate[MOST], _FIRST_PATIENCE_NS, 0
    return True


@kernel(void(int64, WORDS))
def renew_early(world, gate):  # type: ignore[no-untyped-def]
    """Begin a generation before the quota is used up, if that can be: where little is under way nobody then waits."""
    if gate[LET_IN] > gate[QUOTA] // 4:
        renew(world, gate)


@kernel(boolean(WORDS, int64, int64))
def is_first(gate, entry, time):  # type: ignore[no-untyped-def]
    """Note that at this time something waits before an entry, or, with COMPLETE, that nothing does. Whether nothing
    earlier waits before another: in its place it would only wait in some operator's state."""
    nexts = words_at(gate[NEXTS], gate[SHARES])
    nexts[entry] = time
    for other in range(len(nexts)):
        if nexts[other] < time:
            return False
    return True


@kernel(int64(WORDS, int64, int64))
def room_for(gate, share, run):  # type: ignore[no-untyped-def]
    """How much an entry that has let in so much in this generation, and of it in this run, may still let in in this
    run. No entry takes others' part, and none all of it at once: what it makes may be more than it made before.
    """
    if gate[METERED] > gate[MOST] and gate[UNIT] != TIMES:
        return 0
    mine = max(1, gate[QUOTA] // gate[SHARES])
    return min(mine - share, max(1, mine >> _A_RUNS_PART) - run)


@kernel(void(int64, WORDS, int64))
def was_let_in(world, gate, units):  # type: ignore[no-untyped-def]
    """So much was let in."""
    gate[LET_IN] += units
    gate[LAST_ROUND] = round_of(world)


@kernel(int64(int64, WORDS, int64, int64))
def escape(world, gate, now_ns, seen):  # type: ignore[no-untyped-def]
    """An entry holds something back that has escaped `seen` times so far, by ESCAPES. How many rows are to be let in
    all the same, since nothing has moved for so long, by each entry that holds something; or 0."""
    gate[HOLDS] += 1
    found = print_of(world, locations_of_gate(gate))
    if gate[HELD_SINCE_NS] == 0 or found != gate[PRINT] or is_congested(world):
        gate[HELD_SINCE_NS], gate[PRINT] = now_ns, found
    elif now_ns - gate[HELD_SINCE_NS] >= gate[PATIENCE_NS]:
        gate[HELD_SINCE_NS] = 0
        gate[PATIENCE_NS] = min(2 * gate[PATIENCE_NS], _MOST_PATIENCE_NS)
        gate[ESCAPE_ROWS] = min(max(1, 2 * gate[ESCAPE_ROWS]), _MOST_ESCAPE_ROWS)
        gate[ESCAPES] += 1
    return gate[ESCAPE_ROWS] if gate[ESCAPES] > seen else 0


class Gate:
    """One worker's gate: its words, and what is told to those who share it."""

    def __init__(self, words: np.ndarray) -> None:
        self.words = words
        self._region: UnderWay | None = None
        self._nexts = np.full(words[SHARES], COMPLETE, np.int64)
        words[NEXTS] = address_of(self._nexts)
        self.wake_keeper: Callable[[], None] = lambda: None
        """Runs the keeper from Python."""

    def attach(self, region: UnderWay, pressure: UnderWay | None) -> None:
        """The dataflow is built: what is under way in the region, and where the keepers' tokens are."""
        words = self.words
        self._region = region  # whose array the words point to
        words[LOCATIONS], words[LOCATION_COUNT] = address_of(region.locations), len(region.locations)
        if pressure is not None:
            words[PRESSURE] = pressure.locations[0]

    @property
    def is_open(self) -> bool:
        """Whether nothing waits before an entry."""
        return bool((self._nexts == COMPLETE).all())

    def view(self) -> dict[str, int]:
        """What inspection shows of a region: how much may be let in in a generation now, how many there were, the most
        that one of them brought to the region's inputs from this worker, how often something was held back, and let in
        though the region was not empty."""
        words = self.words
        names = {"quota": QUOTA, "generations": GENERATION, "most": PEAK, "held": HOLDS, "let in anyway": ESCAPES}
        return {name: int(words[at]) for name, at in names.items()}


def new_gate(unit: int, most: int, shares: int) -> Gate:
    """One worker's gate for so many entries."""
    gate = np.zeros(GATE_WORDS, np.int64)
    gate[UNIT], gate[MOST], gate[SHARES] = unit, most, shares
    gate[QUOTA] = most if unit == TIMES else max(1, most >> _FIRST_PART)
    gate[LAST_ROUND] = -1
    gate[NEXT_ASK], gate[PRESSURE], gate[KEEPER] = most, -1, -1
    gate[MANNER] = SETTLED if unit == TIMES else BEGINNING
    gate[PATIENCE_NS], gate[ESCAPE_ROWS] = _FIRST_PATIENCE_NS, 0
    return Gate(gate)
