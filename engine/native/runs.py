"""A run of a compiled operator: the call by its address, and what is looked at behind it."""

from tokenring.engine.native.due import make_due
from tokenring.engine.native.layout import (
    AGAIN,
    COLUMNS,
    CONGESTED_FLAGS,
    DONE,
    FAILED,
    IN_LOOP,
    IN_PYTHON,
    LACKED,
    LACKED_EACH,
    NEEDS_ROOM,
    NEXT,
    NOTED,
    OBSERVED,
    OPERATOR_STOPPED,
    OPERATORS_USED,
    ROWS,
    RUN_MESSAGES,
    RUN_NS,
    RUN_ROWS,
    STOPPED_AT,
    TAKE_STOPPED,
    TIMED,
    TROUBLE,
    WAKE_NS,
    WORKERS,
    inputs_at,
    operators_at,
    say,
    state_at,
    world_at,
)
from tokenring.engine.native.logic import wake_at
from tokenring.engine.native.messages import keep_waiting
from tokenring.engine.native.wrongs import NO_MEMORY, fail
from tokenring.engine.progress import operators_of
from tokenring.shm.kernels import int64, kernel, words_at
from tokenring.shm.memory import call_at, monotonic_now_ns
from tokenring.shm.queues import any_set

_UNTIL_ROOM_NS = 100_000  # a source that may not run looks again


@kernel
def _hold(words, operator):  # type: ignore[no-untyped-def]
    """Tell the tracker how many tokens an operator holds whose policy counts them; False if Python must do it: once,
    when the tracker is to keep its frontiers from now on."""
    here = operators_at(words)[operator]
    tracked = operators_of(state_at(words))[here.number]
    if here.held > 0 and tracked.is_lazy:
        return False
    tracked.holding = here.held
    return True


@kernel
def _must_pause(words, here):  # type: ignore[no-untyped-def]
    """Whether an operator is a source, and too much waits for room somewhere: no source makes room."""
    return here.inputs == 0 and any_set(words[CONGESTED_FLAGS], words[WORKERS] + 1)


@kernel
def _note_run(words, here):  # type: ignore[no-untyped-def]
    """What the event log tells of a run that begins."""
    words[RUN_MESSAGES] = words[RUN_ROWS] = 0
    for port in range(here.first_input, here.first_input + here.inputs):
        message = inputs_at(words)[port].first
        while message != 0:
            header = words_at(message, COLUMNS)
            words[RUN_MESSAGES] += 1
            words[RUN_ROWS] += header[ROWS]
            message = header[NEXT]


@kernel
def run(world, words, operator):  # type: ignore[no-untyped-def]
    """Run a compiled operator; bits for Python. STOPPED_AT says which it is, TROUBLE why: what it returned, or DONE if
    Python has to tell the tracker what it holds."""
    here = operators_at(words)[operator]
    if words[OBSERVED] & NOTED:
        _note_run(words, here)
    is_timed = words[TIMED] or words[OBSERVED] & NOTED
    began_ns = 0
    if is_timed:
        began_ns = monotonic_now_ns()
    words[STOPPED_AT] = operator
    say(words, here.label)
    status = call_at(here.logic, world, operator)
    say(words, IN_LOOP)
    if is_timed:
        words[RUN_NS] = monotonic_now_ns() - began_ns
        here.spent_ns += words[RUN_NS]
    here.runs += 1
    for port in range(here.first_input, here.first_input + here.inputs):
        inputs_at(words)[port].at_hand = 0
    if here.error != 0 or status >= NEEDS_ROOM:
        if words[LACKED] != 0:
            fail(world, operator, NO_MEMORY, words[LACKED], words[LACKED_EACH], 0)
        words[TROUBLE] = FAILED if here.error != 0 else status
        return OPERATOR_STOPPED
    for port in range(here.first_input, here.first_input + here.inputs):
        inputs_at(words)[port].peeked = 0
        if inputs_at(words)[port].waiting > 0:
            keep_waiting(words, port)
    if status == AGAIN and _must_pause(words, here):
        wake_at(world, operator, monotonic_now_ns() + _UNTIL_ROOM_NS)
    elif status == AGAIN or words[TAKE_STOPPED]:
        make_due(words, operator)
    words[TAKE_STOPPED] = 0
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
        if wake_ns > 0 and wake_ns <= now_ns and _must_pause(words, operators[operator]):
            wake_ns = operators[operator].wake_ns = now_ns + _UNTIL_ROOM_NS
        if wake_ns > 0 and wake_ns <= now_ns:
            operators[operator].wake_ns = 0
            make_due(words, operator)
        elif wake_ns > 0 and (words[WAKE_NS] == 0 or wake_ns < words[WAKE_NS]):
            words[WAKE_NS] = wake_ns


@kernel(int64(int64, int64))
def run_once(world, operator):  # type: ignore[no-untyped-def]
    """Run a compiled operator now, again after it was given room."""
    words = world_at(world)
    told = run(world, words, operator)
    say(words, IN_PYTHON)
    return told
