"""The rule by which content is let into a region: words, and the kernels that compiled and Python's entries share.

Contract. What is let in counts against a quota until the region is seen empty: no message is under way to any of its
operators, on any worker. Then a new *generation* begins. What has passed the inputs within the region since then
(`metered`) bounds what this worker can have there, and the quota is chosen so that it stays below `most`. While
nothing was ever too much, few messages are as good as none: not more than half of `most` can be in them.
Nothing here looks at a frontier: operators take messages without one, so a region becomes empty though time stands
still in it, and what operators keep in state holds nobody back. An operator that leaves messages untaken until it knows
more could yet wait for what is held back here: where nothing moves for a while, a little is let in all the same, and
more each time.
"""

from collections.abc import Callable

import numpy as np

from tokenring.engine import COMPLETE, UnderWay, boolean, int64, kernel, void
from tokenring.engine.compiled import (
    Record,
    Words,
    address_of,
    is_congested,
    messages_under_way,
    print_of,
    record_at,
    round_of,
    sum_of_tokens,
    words_at,
)

ROWS, BYTES, TIMES = range(3)
"""What is counted: rows, the bytes of their columns (8 a value, and the texts, where metered), distinct times."""


class GateState(Record):
    """`locations`: the region's inputs. `most`: of the unit, that may be in the region; `quota`: so much of it may be
    let in in a generation here; `metered`: so much has come to the region's inputs from this worker in this generation.
    `shares`: entries. `manner`: see below. `asked`: the sum of the tokens at `pressure` as last seen: how often all
    were asked to halve their quotas. `next_ask`: at what `metered` this worker asks. `keeper`: the operator that does,
    by its row; -1: none. `last_round`: the round in which something was let in last, whose counts are known when it is
    over. `largest`: what the largest message counts that passed the inputs from here, lately; `largest_now`: in this
    generation. `nexts`: where the times are of what waits before each entry, COMPLETE where nothing does."""

    locations: int
    location_count: int
    unit: int
    most: int
    quota: int
    shares: int
    generation: int
    let_in: int
    metered: int
    manner: int
    pressure: int
    asked: int
    next_ask: int
    keeper: int
    keeper_is_up: int
    held_since_ns: int
    print: int
    patience_ns: int
    escape_rows: int
    holds: int
    escapes: int
    peak: int
    last_round: int
    largest: int
    largest_now: int
    nexts: int


BEGINNING, SETTLED, CAREFUL = range(3)
"""Manners: quotas grow fast, until they are what fits; nothing was too much so far; something was."""
_FIRST_PATIENCE_NS, _MOST_PATIENCE_NS = 20_000_000, 1_000_000_000
_MOST_ESCAPE_ROWS = 1024
_A_RUNS_PART = 3  # as a shift
_FIRST_PART = 14  # as a shift: a region that makes so many thousand rows of each is within `most` from the start


@kernel
def locations_of_gate(gate: GateState) -> Words:
    """The region's inputs."""
    return words_at(gate.locations, gate.location_count)


@kernel
def _learn(gate: GateState) -> None:
    """The region is empty: what the generation that ends says of the next one's quota."""
    let_in, metered, most, quota = gate.let_in, gate.metered, gate.most, gate.quota
    if gate.unit == TIMES or let_in == 0:
        return
    fitting = most
    if metered > 0:
        fitting = max(1, min(most, int(float(most) / metered * let_in)))
    if metered > most:
        quota = min(quota, fitting)
    elif 4 * let_in >= quota:
        if gate.manner == BEGINNING:
            grown = quota << _A_RUNS_PART  # what one run may let in of it is then no more than a generation brought
        elif gate.manner == SETTLED:
            grown = 2 * quota
        else:
            grown = quota + max(1, quota >> 3)
        quota = max(1, min(grown, fitting))
    if metered > 2 * most:
        gate.manner = CAREFUL
    elif gate.manner == BEGINNING and 2 * quota > fitting:
        gate.manner = SETTLED
    gate.quota = quota


@kernel
def _heed(world: int, gate: GateState) -> None:
    """Halve the quota as often as others have asked since this was last looked at."""
    if gate.pressure < 0:
        return
    asked = sum_of_tokens(world, gate.pressure)
    if asked > gate.asked:
        gate.quota = max(1, gate.quota >> min(62, asked - gate.asked))
        gate.manner, gate.asked = CAREFUL, asked


@kernel(boolean(int64, int64))
def renew(world: int, address: int) -> bool:
    """Begin a generation if no message is under way in the region, or, where nothing was ever too much, so few that
    they have no more than half of what may be there; and no row waits for room in a queue. Whether that is so.
    address: of the gate's state, here as everywhere."""
    gate = record_at(address, GateState)
    if gate.last_round == round_of(world) or is_congested(world):
        return False
    messages = messages_under_way(world, locations_of_gate(gate))
    if messages > 0 and (gate.manner != SETTLED or messages > gate.most // (2 * max(1, gate.largest))):
        return False
    gate.peak = max(gate.peak, gate.metered)
    if messages == 0:
        _learn(gate)
    _heed(world, gate)
    gate.largest = max(gate.largest_now, gate.largest - gate.largest // 8)
    gate.largest_now = 0
    gate.generation += 1
    gate.let_in = gate.metered = gate.held_since_ns = 0
    gate.next_ask, gate.patience_ns, gate.escape_rows = gate.most, _FIRST_PATIENCE_NS, 0
    return True


@kernel(void(int64, int64))
def renew_early(world: int, address: int) -> None:
    """Begin a generation before the quota is used up, if that can be: where little is under way nobody then waits."""
    gate = record_at(address, GateState)
    if gate.let_in > gate.quota // 4:
        renew(world, address)


@kernel(boolean(int64, int64, int64))
def is_first(address: int, entry: int, time: int) -> bool:
    """Note that at this time something waits before an entry, or, with COMPLETE, that nothing does. Whether nothing
    earlier waits before another: in its place it would only wait in some operator's state."""
    gate = record_at(address, GateState)
    nexts = words_at(gate.nexts, gate.shares)
    nexts[entry] = time
    for other in range(len(nexts)):
        if nexts[other] < time:
            return False
    return True


@kernel(int64(int64, int64, int64))
def room_for(address: int, share: int, run: int) -> int:
    """How much an entry that has let in so much in this generation, and of it in this run, may still let in in this
    run. No entry takes others' part, and none all of it at once: what it makes may be more than it made before.
    """
    gate = record_at(address, GateState)
    if gate.metered > gate.most and gate.unit != TIMES:
        return 0
    mine = max(1, gate.quota // gate.shares)
    return min(mine - share, max(1, mine >> _A_RUNS_PART) - run)


@kernel(void(int64, int64, int64))
def was_let_in(world: int, address: int, units: int) -> None:
    """So much was let in."""
    gate = record_at(address, GateState)
    gate.let_in += units
    gate.last_round = round_of(world)


@kernel(int64(int64, int64, int64, int64))
def escape(world: int, address: int, now_ns: int, seen: int) -> int:
    """An entry holds something back that has escaped `seen` times so far, by `escapes`. How many rows are to be let in
    all the same, since nothing has moved for so long, by each entry that holds something; or 0."""
    gate = record_at(address, GateState)
    gate.holds += 1
    found = print_of(world, locations_of_gate(gate))
    if gate.held_since_ns == 0 or found != gate.print or is_congested(world):
        gate.held_since_ns, gate.print = now_ns, found
    elif now_ns - gate.held_since_ns >= gate.patience_ns:
        gate.held_since_ns = 0
        gate.patience_ns = min(2 * gate.patience_ns, _MOST_PATIENCE_NS)
        gate.escape_rows = min(max(1, 2 * gate.escape_rows), _MOST_ESCAPE_ROWS)
        gate.escapes += 1
    return gate.escape_rows if gate.escapes > seen else 0


class Gate:
    """One worker's gate: its state, which kernels know by its `address`, and what is told to those who share it."""

    def __init__(self, state: GateState) -> None:
        self.state, self.address = state, state.address
        self._region: UnderWay | None = None
        self._nexts = np.full(state.shares, COMPLETE, np.int64)
        state.nexts = address_of(self._nexts)
        self.wake_keeper: Callable[[], None] = lambda: None
        """Runs the keeper from Python."""

    def attach(self, region: UnderWay, pressure: UnderWay | None) -> None:
        """The dataflow is built: what is under way in the region, and where the keepers' tokens are."""
        state = self.state
        self._region = region  # whose array it points to
        state.locations, state.location_count = address_of(region.locations), len(region.locations)
        if pressure is not None:
            state.pressure = pressure.locations[0]

    @property
    def is_open(self) -> bool:
        """Whether nothing waits before an entry."""
        return bool((self._nexts == COMPLETE).all())

    def view(self) -> dict[str, int]:
        """What inspection shows of a region: how much may be let in in a generation now, how many there were, the most
        that one of them brought to the region's inputs from this worker, how often something was held back, and let in
        though the region was not empty."""
        state = self.state
        return {
            "quota": state.quota,
            "generations": state.generation,
            "most": state.peak,
            "held": state.holds,
            "let in anyway": state.escapes,
        }


def new_gate(unit: int, most: int, shares: int) -> Gate:
    """One worker's gate for so many entries."""
    gate = GateState()
    gate.unit, gate.most, gate.shares = unit, most, shares
    gate.quota = most if unit == TIMES else max(1, most >> _FIRST_PART)
    gate.last_round = -1
    gate.next_ask, gate.pressure, gate.keeper = most, -1, -1
    gate.manner = SETTLED if unit == TIMES else BEGINNING
    gate.patience_ns, gate.escape_rows = _FIRST_PATIENCE_NS, 0
    return Gate(gate)
