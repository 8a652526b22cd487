"""A run of a compiled operator: the call by its address, and what is looked at behind it."""

from tokenring.engine.native.due import make_due
from tokenring.engine.native.edges import send_round
from tokenring.engine.native.layout import (
    AGAIN,
    DONE,
    FAILED,
    IN_LOOP,
    IN_PYTHON,
    NEEDS_ROOM,
    NOTED,
    OPERATOR_STOPPED,
    OperatorRow,
    RunningGraph,
    inputs_at,
    message_at,
    operators_at,
    say,
    state_at,
    world_at,
)
from tokenring.engine.native.logic import wake_at
from tokenring.engine.native.messages import keep_waiting
from tokenring.engine.native.wrongs import NO_MEMORY, fail
from tokenring.engine.progress import operators_of
from tokenring.shm.kernels import int64, kernel
from tokenring.shm.memory import call_at, monotonic_now_ns
from tokenring.shm.queues import any_set

_UNTIL_ROOM_NS = 100_000  # a source that may not run looks again


@kernel
def _hold(graph: RunningGraph, operator: int) -> bool:
    """Tell the tracker how many tokens an operator holds whose policy counts them; False if Python must do it: once,
    when the tracker is to keep its frontiers from now on."""
    here = operators_at(graph)[operator]
    tracked = operators_of(state_at(graph))[here.number]
    if here.held > 0 and tracked.is_lazy != 0:
        return False
    tracked.holding = here.held
    return True


@kernel
def _must_pause(graph: RunningGraph, here: OperatorRow) -> bool:
    """Whether an operator is a source, and too much waits for room somewhere: no source makes room."""
    return here.inputs == 0 and any_set(graph.congested_flags, graph.workers + 1)


@kernel
def _note_run(graph: RunningGraph, here: OperatorRow) -> None:
    """What the event log tells of a run that begins."""
    graph.run_messages = graph.run_rows = 0
    for port in range(here.first_input, here.first_input + here.inputs):
        message = inputs_at(graph)[port].first
        while message != 0:
            header = message_at(message)
            graph.run_messages += 1
            graph.run_rows += header.rows
            message = header.next


@kernel
def run(world: int, graph: RunningGraph, operator: int) -> int:
    """Run a compiled operator; bits for Python. `stopped_at` says which it is, `trouble` why: what it returned, or DONE
    if Python has to tell the tracker what it holds."""
    here = operators_at(graph)[operator]
    if graph.observed & NOTED != 0:
        _note_run(graph, here)
    is_timed = graph.timed != 0 or graph.observed & NOTED != 0
    began_ns = 0
    if is_timed:
        began_ns = monotonic_now_ns()
    graph.stopped_at = operator
    say(graph, here.label)
    status = call_at(here.logic, world, operator)
    if graph.going_round != 0:
        send_round(world, operator)
    say(graph, IN_LOOP)
    if is_timed:
        graph.run_ns = monotonic_now_ns() - began_ns
        here.spent_ns += graph.run_ns
    here.runs += 1
    for port in range(here.first_input, here.first_input + here.inputs):
        inputs_at(graph)[port].at_hand = 0
    if here.error != 0 or status >= NEEDS_ROOM:
        if graph.lacked != 0:
            fail(world, operator, NO_MEMORY, graph.lacked, graph.lacked_each, 0)
        graph.trouble = FAILED if here.error != 0 else status
        return OPERATOR_STOPPED
    for port in range(here.first_input, here.first_input + here.inputs):
        inputs_at(graph)[port].peeked = 0
        if inputs_at(graph)[port].waiting > 0:
            keep_waiting(graph, port)
    if status == AGAIN and _must_pause(graph, here):
        wake_at(world, operator, monotonic_now_ns() + _UNTIL_ROOM_NS)
    elif status == AGAIN or graph.take_stopped != 0:
        make_due(graph, operator)
    graph.take_stopped = 0
    if here.counts_tokens != 0 and not _hold(graph, operator):
        graph.trouble = DONE
        return OPERATOR_STOPPED
    return 0


@kernel
def wake_sleepers(graph: RunningGraph) -> None:
    """Let those run whose time has come, and note when the next one's does."""
    now_ns = monotonic_now_ns()
    graph.wake_ns = 0
    operators = operators_at(graph)
    for operator in range(graph.operators_used):
        wake_ns = operators[operator].wake_ns
        if wake_ns > 0 and wake_ns <= now_ns and _must_pause(graph, operators[operator]):
            wake_ns = operators[operator].wake_ns = now_ns + _UNTIL_ROOM_NS
        if wake_ns > 0 and wake_ns <= now_ns:
            operators[operator].wake_ns = 0
            make_due(graph, operator)
        elif wake_ns > 0 and (graph.wake_ns == 0 or wake_ns < graph.wake_ns):
            graph.wake_ns = wake_ns


@kernel(int64(int64, int64))
def run_once(world: int, operator: int) -> int:
    """Run a compiled operator now, again after it was given room."""
    graph = world_at(world)
    told = run(world, graph, operator)
    say(graph, IN_PYTHON)
    return told
