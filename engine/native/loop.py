"""The worker's inner loop: take in messages, run compiled operators that are due, exchange progress, wait for more.

Python is entered for a reason that `turn` returns, and at the latest when its time is up. Everything that is due runs
once before anything runs twice (engine/native/due.py).
"""

from tokenring.engine.native.arrivals import take_in
from tokenring.engine.native.due import next_due
from tokenring.engine.native.edges import retry, settle_texts
from tokenring.engine.native.exchanging import asks_for_time, exchange_now, is_to_exchange
from tokenring.engine.native.layout import (
    ARRIVALS,
    CHECKED,
    HANDED_OVER,
    HAS_RUN,
    IN_EXCHANGE,
    IN_LOOP,
    IN_PYTHON,
    IN_WAIT,
    LOG_SPILLED,
    MOST_ROUNDS,
    NOBODY,
    NOTED,
    NUMBER_BITS,
    OPERATOR_STOPPED,
    PEERS_SLEEP,
    PYTHON_IS_DUE,
    QUIET,
    SIGNALLED,
    TIME_IS_UP,
    TO_EXCHANGE,
    TO_GIVE_BACK,
    TROUBLED,
    WAS_ACTIVE,
    WOKEN,
    RunningGraph,
    operators_at,
    queues_at,
    say,
    world_at,
)
from tokenring.engine.native.memory import free_round
from tokenring.engine.native.messages import keep_waiting
from tokenring.engine.native.runs import run, wake_sleepers
from tokenring.shm.kernels import int64, kernel, words_at
from tokenring.shm.memory import monotonic_now_ns
from tokenring.shm.queues import anything_waiting, release_all

_ROUNDS_A_STEP = 16


@kernel
def _keep_all_waiting(graph: RunningGraph) -> None:
    """The round ends: what still waits gets memory of its own."""
    heap = words_at(graph.due, 2 * graph.due_count)
    for i in range(graph.due_count):
        here = operators_at(graph)[heap[2 * i + 1]]
        for port in range(here.first_input, here.first_input + here.inputs):
            keep_waiting(graph, port)


@kernel
def _end_round(graph: RunningGraph, python_key: int) -> None:
    """What was sent and taken in this round is done with."""
    free_round(graph)
    if graph.waiting_text_at > graph.waiting_text:
        settle_texts(graph)
    if graph.taken != 0:
        graph.taken = 0
        release_all(queues_at(graph, graph.incoming))
    graph.round += 1
    graph.position = -1
    if graph.round > MOST_ROUNDS and python_key == NOBODY:
        heap = words_at(graph.due, 2 * graph.due_count)
        for i in range(graph.due_count):
            heap[2 * i] -= graph.round << NUMBER_BITS
            operators_at(graph)[heap[2 * i + 1]].due = heap[2 * i]
        graph.round = 0


@kernel
def _exchange(graph: RunningGraph, waits: bool) -> int:
    """`exchange_now`, and say so; who waits and looks whether peers published goes on waiting."""
    say(graph, IN_WAIT if waits else IN_EXCHANGE)
    told = exchange_now(graph)
    say(graph, IN_WAIT if waits and not told & WAS_ACTIVE else IN_LOOP)
    return told


@kernel
def _go_on(world: int, graph: RunningGraph, python_key: int, python_depends: int, wait_ns: int, until_ns: int) -> int:
    """`turn`, which says what the worker does before and after."""
    incoming = queues_at(graph, graph.incoming)
    flags = rounds = quiet_since_ns = 0
    while True:
        if graph.position < 0:  # a round begins, with what peers sent
            graph.position = 0
            if graph.workers > 1 and anything_waiting(incoming) and take_in(graph) > 0:
                flags |= WAS_ACTIVE
                if graph.arrived_for_python > 0:
                    return flags | ARRIVALS
        end = (graph.round + 1) << NUMBER_BITS
        while True:
            if graph.for_python != 0:
                return flags | HANDED_OVER
            if graph.signalled != 0:
                return flags | SIGNALLED
            if graph.spilled.count > 0:
                return flags | LOG_SPILLED
            key, depends = python_key, python_depends != 0
            is_native = False
            if graph.due_count > 0:
                first = words_at(graph.due, 2)
                is_native = first[0] < python_key
                if is_native:
                    key, depends = first[0], asks_for_time(operators_at(graph)[first[1]])
            if key >= end:
                break
            if is_to_exchange(graph, depends):
                if graph.observed != 0:
                    return flags | TO_EXCHANGE
                told = _exchange(graph, False)
                flags |= told
                if told & (TROUBLED | WOKEN | PEERS_SLEEP):
                    return flags
                continue
            if not is_native:
                return flags | PYTHON_IS_DUE
            graph.position = key & ((1 << NUMBER_BITS) - 1)
            told = run(world, graph, next_due(graph))
            flags |= told | WAS_ACTIVE
            if graph.observed & NOTED != 0:
                flags |= HAS_RUN
            if flags & (OPERATOR_STOPPED | HAS_RUN):
                return flags
        if graph.waiting > 0:
            _keep_all_waiting(graph)
        if graph.lent != 0 or (graph.observed & CHECKED != 0 and graph.taken != 0):
            return flags | TO_GIVE_BACK
        _end_round(graph, python_key)
        rounds += 1
        if graph.wake_ns > 0 and monotonic_now_ns() >= graph.wake_ns:
            wake_sleepers(graph)
        if retry(graph):
            flags |= WAS_ACTIVE
        if graph.spilled.count > 0:
            return flags | LOG_SPILLED
        if graph.workers > 1 or graph.log_count > 0 or graph.unpublished != 0:
            if graph.observed != 0:
                return flags | TO_EXCHANGE
            told = _exchange(graph, quiet_since_ns != 0)
            flags |= told
            if told & (TROUBLED | WOKEN | PEERS_SLEEP):
                return flags
        if graph.due_count == 0 and python_key == NOBODY:
            if graph.workers == 1 or not anything_waiting(incoming):
                if wait_ns == 0 or flags & WAS_ACTIVE:
                    return flags | QUIET
                now_ns = monotonic_now_ns()
                if quiet_since_ns == 0:
                    quiet_since_ns = now_ns
                    say(graph, IN_WAIT)
                if now_ns - quiet_since_ns >= wait_ns:
                    return flags | QUIET
        if until_ns == 0:
            if rounds >= _ROUNDS_A_STEP:
                return flags | TIME_IS_UP
        elif monotonic_now_ns() >= until_ns:
            return flags | TIME_IS_UP


@kernel(int64(int64, int64, int64, int64, int64))
def turn(world: int, python_key: int, python_depends: int, wait_ns: int, until_ns: int) -> int:
    """Go on until Python is needed; why, as bits. MemoryError if there is no memory for messages.

    python_key: of the first of Python's operators that are due (engine/native/due.py), NOBODY if none is;
    python_depends: whether it asks what time it is. wait_ns: how long to wait for something to do. until_ns: how long
    to go on at most (monotonic); 0: some rounds, while there is something to do.
    """
    graph = world_at(world)
    say(graph, IN_LOOP)
    told = _go_on(world, graph, python_key, python_depends, wait_ns, until_ns)
    say(graph, IN_PYTHON)
    return told
