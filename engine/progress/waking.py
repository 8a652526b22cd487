"""Operators as the tracker knows them: when they want to be woken, and the list of those that are."""

from tokenring.engine.graph import NOTIFY_CODES, Notify
from tokenring.engine.progress.layout import LOCATION_CAPACITY, WOKEN_COUNT
from tokenring.shm.kernels import kernel

NEVER, IF_TOKEN = NOTIFY_CODES[Notify.NEVER], NOTIFY_CODES[Notify.IF_TOKEN]


@kernel
def wake(state, operators, lists, operator):  # type: ignore[no-untyped-def]
    """List an operator as woken, once."""
    if operators[operator].is_woken == 0:
        operators[operator].is_woken = 1
        lists[2 * state[LOCATION_CAPACITY] + state[WOKEN_COUNT]] = operator
        state[WOKEN_COUNT] += 1
