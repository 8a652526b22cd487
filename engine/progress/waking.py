"""Operators as the tracker knows them: when they want to be woken, and the list of those that are."""

from tokenring.engine.graph import NOTIFY_CODES, Notify
from tokenring.engine.progress.counts import LOCATION_CAPACITY, WOKEN_COUNT
from tokenring.shm.kernels import kernel

# Words of an operator. Its inputs are the INPUTS locations from FIRST_INPUT on; IS_LAZY: their frontiers are not kept.
POLICY, HOLDING, IS_WOKEN, FIRST_INPUT, INPUTS, IS_LAZY = range(6)
OPERATOR_WORDS = 6
NEVER, IF_TOKEN = NOTIFY_CODES[Notify.NEVER], NOTIFY_CODES[Notify.IF_TOKEN]


@kernel
def wake(state, operators, lists, operator):  # type: ignore[no-untyped-def]
    """List an operator as woken, once."""
    if operators[operator * OPERATOR_WORDS + IS_WOKEN] == 0:
        operators[operator * OPERATOR_WORDS + IS_WOKEN] = 1
        lists[2 * state[LOCATION_CAPACITY] + state[WOKEN_COUNT]] = operator
        state[WOKEN_COUNT] += 1
