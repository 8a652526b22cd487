"""Who is due: a heap of keys (round, number), so that everything due runs once before anything runs twice.

An operator that becomes due runs in this round if its number is still to come, else in the next: numbers are
topological, and a feed of messages from peers cannot keep those behind from their turn.
"""

from tokenring.engine.native.layout import NUMBER_BITS, RunningGraph, operators_at, world_at
from tokenring.shm.kernels import int64, kernel, void, words_at


@kernel
def key_for(graph: RunningGraph, number: int) -> int:
    """The key of an operator of the tracker's `number` that becomes due now."""
    return ((graph.round + (number <= graph.position)) << NUMBER_BITS) | number


@kernel
def make_due(graph: RunningGraph, operator: int) -> None:
    """Let a compiled operator run, once."""
    record = operators_at(graph)[operator]
    if record.due != 0:
        return
    key = key_for(graph, record.number)
    record.due = key
    heap = words_at(graph.due, 2 * graph.due_capacity)
    at = graph.due_count
    graph.due_count = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap[2 * above] <= key:
            break
        heap[2 * at], heap[2 * at + 1] = heap[2 * above], heap[2 * above + 1]
        at = above
    heap[2 * at], heap[2 * at + 1] = key, operator


@kernel
def next_due(graph: RunningGraph) -> int:
    """Take the operator that is due first off the heap."""
    heap = words_at(graph.due, 2 * graph.due_capacity)
    operator = heap[1]
    count = graph.due_count - 1
    graph.due_count = count
    key, last = heap[2 * count], heap[2 * count + 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and heap[2 * below + 2] < heap[2 * below]:
            below += 1
        if heap[2 * below] >= key:
            break
        heap[2 * at], heap[2 * at + 1] = heap[2 * below], heap[2 * below + 1]
        at = below
    heap[2 * at], heap[2 * at + 1] = key, last
    operators_at(graph)[operator].due = 0
    return operator


@kernel(void(int64, int64))
def let_run(world: int, operator: int) -> None:
    """`make_due` for callers in Python."""
    make_due(world_at(world), operator)
