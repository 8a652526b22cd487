"""The keeper of a region: asks all workers to let in less when too much came of it on this one.

What all can see are tokens. Each worker's keeper holds one at an output that nobody reads, and moves it on by one for
each time that all are to halve their quotas: the sum of these tokens' times tells everybody how often that was.
"""

from tokenring.engine import COMPLETE, OperatorContext
from tokenring.engine.compiled import (
    DONE,
    Compiled,
    downgrade,
    drop,
    entry,
    frontier_at,
    monotonic_now_ns,
    record_at,
    state_as,
    time_of_token,
    wake_at,
)
from tokenring.operators.flow.gate import Gate, GateState, renew
from tokenring.operators.mechanisms import Beginning

_LOOK_EVERY_NS = 20_000


class KeeperState(Beginning):
    """`gate`: where the gate's state is; `ports`: how many inputs there are."""

    gate: int
    ports: int


@entry
def _keep(world: int, me: int) -> int:
    """Ask for less, if there is too much; look until the region is empty; end when nothing more can come."""
    state = state_as(world, me, KeeperState)
    gate = record_at(state.gate, GateState)
    if state.first < 0:
        return DONE
    gate.keeper = me
    over = True
    for port in range(state.ports):
        over &= frontier_at(world, me, port) == COMPLETE
    if over:
        drop(world, me, state.first)
        state.first = gate.keeper = -1
        return DONE
    if gate.keeper_is_up == 0:
        return DONE
    if renew(world, state.gate):
        gate.keeper_is_up = 0
        return DONE
    if gate.metered > gate.next_ask:
        halvings = 0
        while gate.metered > gate.next_ask:
            gate.next_ask *= 2
            halvings += 1
        gate.asked += halvings  # our own quota learns by what was metered
        downgrade(world, me, state.first, time_of_token(world, state.first) + halvings)
    wake_at(world, me, monotonic_now_ns() + _LOOK_EVERY_NS)
    return DONE


def keeper(context: OperatorContext, gate: Gate, ports: int) -> Compiled:
    """The keeper's logic on one worker; alone in its group it has nobody to ask."""
    state = KeeperState()
    state.gate, state.ports = gate.address, ports if context.peers > 1 else 0
    gate.wake_keeper = context.activate
    return Compiled(_keep, state.words, (gate,))
