"""When and how the inner loop exchanges progress, and whom that wakes."""

from tokenring.engine.native.due import make_due
from tokenring.engine.native.layout import (
    PEERS_SLEEP,
    TROUBLED,
    WAS_ACTIVE,
    WOKEN,
    OperatorRow,
    RunningGraph,
    queues_at,
    state_at,
)
from tokenring.engine.progress import APPLIED_ANY, BROKEN, CHANGE_WORDS, FULL, PARKED, PUBLISHED, ROOM, exchange
from tokenring.shm.kernels import kernel, words_at
from tokenring.shm.memory import monotonic_now_ns
from tokenring.shm.queues import commit_all


@kernel
def _tell_woken(graph: RunningGraph) -> int:
    """Let the compiled operators run that a frontier's move woke; how many others there are."""
    state = state_at(graph)
    woken = words_at(state.lists, 3 * state.location_capacity)
    natives = words_at(graph.natives, graph.native_capacity)
    first = 2 * state.location_capacity
    left = 0
    for i in range(state.woken_count):
        number = woken[first + i]
        native = natives[number] - 1 if number < graph.native_capacity else -1
        if native >= 0:
            make_due(graph, native)
        else:
            woken[first + left] = number
            left += 1
    state.woken_count = left
    return left


@kernel
def exchange_now(graph: RunningGraph) -> int:
    """Publish, apply, wake; what Python must do about it, as bits of what `turn` returns."""
    began_ns = 0
    if graph.timed != 0:
        began_ns = monotonic_now_ns()
    outgoing = queues_at(graph, graph.outgoing)
    commit_all(outgoing)
    told = exchange(
        graph.state,
        words_at(graph.ring, graph.ring_words),
        words_at(graph.log, graph.log_capacity * CHANGE_WORDS),
        graph.log_count,
        words_at(graph.log_scratch, graph.log_scratch_words),
        queues_at(graph, graph.incoming),
        graph.unpublished != 0,
        graph.parked_flags,
    )
    graph.log_count = graph.unpublished = 0
    graph.ring_is_full = told & FULL
    if graph.timed != 0:
        graph.exchanges += 1
        graph.exchanging_ns += monotonic_now_ns() - began_ns
    if told & (FULL | ROOM | BROKEN):
        graph.trouble = told
        return TROUBLED
    flags = 0
    if told & (APPLIED_ANY | PUBLISHED):
        flags = WAS_ACTIVE
        if _tell_woken(graph) > 0:
            flags |= WOKEN
    if told & PARKED:
        flags |= PEERS_SLEEP
    return flags


@kernel
def asks_for_time(operator: OperatorRow) -> bool:
    """Whether a compiled operator may look at a frontier when it runs next; one that asks only while it holds a token
    learns of what has moved, once it holds one, by being woken."""
    return operator.depends != 0 and (operator.counts_tokens == 0 or operator.held != 0)


@kernel
def is_to_exchange(graph: RunningGraph, depends: bool) -> bool:
    """Whether progress is to be exchanged before the next operator runs. Alone, nobody waits for what was done, and an
    operator that does not ask for the time needs not know; peers wait for a part of a round only."""
    if (graph.log_count == 0 and graph.unpublished == 0) or graph.ring_is_full != 0:
        return False
    if graph.workers == 1:
        return depends
    now_ns = monotonic_now_ns()
    if now_ns - graph.exchanged_ns < graph.exchange_every_ns:
        return False
    graph.exchanged_ns = now_ns
    return True
