"""Operators as the tracker knows them: when they want to be woken, and the list of those that are."""

from collections.abc import Sequence

from tokenring.engine.graph import NOTIFY_CODES, Notify
from tokenring.engine.progress.layout import TrackedOperator, TrackerState
from tokenring.shm.kernels import Words, kernel

NEVER, IF_TOKEN = NOTIFY_CODES[Notify.NEVER], NOTIFY_CODES[Notify.IF_TOKEN]


@kernel
def wake(state: TrackerState, operators: Sequence[TrackedOperator], lists: Words, operator: int) -> None:
    """List an operator as woken, once."""
    if operators[operator].is_woken == 0:
        operators[operator].is_woken = 1
        lists[2 * state.location_capacity + state.woken_count] = operator
        state.woken_count += 1
