"""The keeper of a region: asks all workers to let in less when too much came of it on this one.

What all can see are tokens. Each worker's keeper holds one at an output that nobody reads, and moves it on by one for
each time that all are to halve their quotas: the sum of these tokens' times tells everybody how often that was.
"""

import numpy as np

from tokenring.engine import COMPLETE, OperatorContext
from tokenring.engine.compiled import (
    DONE,
    Compiled,
    address_of,
    downgrade,
    drop,
    entry,
    frontier_at,
    monotonic_now_ns,
    state_of,
    time_of_token,
    wake_at,
    words_at,
)
from tokenring.operators.flow.gate import ASKED, GATE_WORDS, KEEPER, KEEPER_IS_UP, METERED, NEXT_ASK, Gate, renew

_TOKEN, _GATE, _PORTS, _WORDS = range(4)
_LOOK_EVERY_NS = 20_000


@entry
def _keep(world, me):  # type: ignore[no-untyped-def]
    """Ask for less, if there is too much; look until the region is empty; end when nothing more can come."""
    state = state_of(world, me, _WORDS)
    gate = words_at(state[_GATE], GATE_WORDS)
    if state[_TOKEN] < 0:
        return DONE
    gate[KEEPER] = me
    over = True
    for port in range(state[_PORTS]):
        over &= frontier_at(world, me, port) == COMPLETE
    if over:
        drop(world, me, state[_TOKEN])
        state[_TOKEN] = gate[KEEPER] = -1
        return DONE
    if gate[KEEPER_IS_UP] == 0:
        return DONE
    if renew(world, gate):
        gate[KEEPER_IS_UP] = 0
        return DONE
    if gate[METERED] > gate[NEXT_ASK]:
        halvings = 0
        while gate[METERED] > gate[NEXT_ASK]:
            gate[NEXT_ASK] *= 2
            halvings += 1
        gate[ASKED] += halvings  # our own quota learns by what was metered
        downgrade(world, me, state[_TOKEN], time_of_token(world, state[_TOKEN]) + halvings)
    wake_at(world, me, monotonic_now_ns() + _LOOK_EVERY_NS)
    return DONE


def keeper(context: OperatorContext, gate: Gate, ports: int) -> Compiled:
    """The keeper's logic on one worker; alone in its group it has nobody to ask."""
    state = np.zeros(_WORDS, np.int64)
    state[_GATE], state[_PORTS] = address_of(gate.words), ports if context.peers > 1 else 0
    gate.wake_keeper = context.activate
    return Compiled(_keep, state, (gate,))
