"""A run of a compiled operator: the call by its address, and what is looked at behind it."""

from tokenring.engine.native.due import make_due
from tokenring.engine.native.layout import (
    AGAIN,
    CURRENT,
    DONE,
    FAILED,
    NEEDS_ROOM,
    OPERATOR_STOPPED,
    OPERATORS_USED,
    STOPPED_AT,
    TAKE_STOPPED,
    TROUBLE,
    WAKE_NS,
    inputs_at,
    operators_at,
    state_at,
    world_at,
)
from tokenring.engine.native.messages import keep_waiting
from tokenring.engine.progress import become_eager, locations_of, operators_of
from tokenring.shm.kernels import int64, kernel
from tokenring.shm.memory import call_at, monotonic_now_ns


@kernel
def _hold(words, operator):  # type: ignore[no-untyped-def]
    """Tell the tracker how many tokens an operator holds whose policy counts them; False if Python must do it."""
    state = state_at(words)
    here = operators_at(words)[operator]
    tracked = operators_of(state)[here.number]
    tracked.holding = here.held
    if here.held > 0 and tracked.is_lazy:
        for location in range(tracked.first_input, tracked.first_input + tracked.inputs):
            if locations_of(state)[location].row == 0:
                return False
        tracked.is_lazy = 0
        for location in range(tracked.first_input, tracked.first_input + tracked.inputs):
            become_eager(state, location, False)
    return True


@kernel
def run(world, words, operator):  # type: ignore[no-untyped-def]
    """Run a compiled operator; bits for Python. STOPPED_AT says which it is, TROUBLE why: what it returned, or DONE if
    Python has to tell the tracker what it holds."""
    here = operators_at(words)[operator]
    words[CURRENT] = operator + 1
    status = call_at(here.logic, world, operator)
    words[CURRENT] = 0
    here.runs += 1
    for port in range(here.first_input, here.first_input + here.inputs):
        inputs_at(words)[port].at_hand = 0
    words[STOPPED_AT] = operator
    if here.error != 0 or status >= NEEDS_ROOM:
        words[TROUBLE] = FAILED if here.error != 0 else status
        return OPERATOR_STOPPED
    for port in range(here.first_input, here.first_input + here.inputs):
        if inputs_at(words)[port].waiting > 0:
            keep_waiting(words, port)
    if status == AGAIN or words[TAKE_STOPPED]:
        words[TAKE_STOPPED] = 0
        make_due(words, operator)
    if here.counts_tokens and not _hold(words, operator):
        words[TROUBLE] = DONE
        return OPERATOR_STOPPED
    return 0


@kernel
def wake_sleepers(words):  # type: ignore[no-untyped-def]
    """Let those run whose time has come, and note when the next one's does."""
    now_ns = monotonic_now_ns()
    words[WAKE_NS] = 0
    operators = operators_at(words)
    for operator in range(words[OPERATORS_USED]):
        wake_ns = operators[operator].wake_ns
        if wake_ns > 0 and wake_ns <= now_ns:
            operators[operator].wake_ns = 0
            make_due(words, operator)
        elif wake_ns > 0 and (words[WAKE_NS] == 0 or wake_ns < words[WAKE_NS]):
            words[WAKE_NS] = wake_ns


@kernel(int64(int64, int64))
def run_once(world, operator):  # type: ignore[no-untyped-def]
    """Run a compiled operator now, again after it was given room."""
    return run(world, world_at(world), operator)
