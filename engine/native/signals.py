"""Signals that compiled operators send and are run by: words in band with the data (engine/graph/signal.py)."""

from collections.abc import Sequence

from tokenring.engine.native.crossing import all_have_room
from tokenring.engine.native.due import make_due
from tokenring.engine.native.layout import RunningGraph, outputs_at, queues_at, world_at
from tokenring.shm.kernels import Record, kernel, records_at, words_at
from tokenring.shm.memory import store_word
from tokenring.shm.queues import begin, message_words


class SignalRow(Record):
    """A signal. `received`: the address of the latest word of each of so many `senders`. `target`: the compiled
    operator that it runs, -1: Python's, which the tracker calls `number`, and `is_told` that it is to run. `is_far`:
    whether it goes to all workers, under the number `channel`; `behind`: the row of the output whose rows it follows,
    where that is compiled; `is_pending`: whether `word` waits to be sent."""

    received: int
    senders: int
    target: int
    number: int
    is_told: int
    is_far: int
    channel: int
    behind: int
    word: int
    is_pending: int


@kernel
def signals_at(graph: RunningGraph) -> Sequence[SignalRow]:
    """The signals."""
    return records_at(graph.signals, graph.signal_capacity, SignalRow)


@kernel
def note_word(graph: RunningGraph, signal: int, sender: int, word: int) -> None:
    """A word arrived: note it, and run who listens."""
    row = signals_at(graph)[signal]
    words_at(row.received, row.senders)[sender] = word
    if row.target >= 0:
        make_due(graph, row.target)
    else:
        row.is_told = graph.signalled = 1


@kernel
def least_word(world: int, signal: int) -> int:
    """The least of the words that the senders of a signal sent last; 0 before the first."""
    row = signals_at(world_at(world))[signal]
    return words_at(row.received, row.senders).min()


@kernel
def send_word(world: int, signal: int, word: int) -> None:
    """Send a word on a signal of the running operator's output, behind everything that it has sent there; with a full
    queue, as soon as there is room."""
    graph = world_at(world)
    row = signals_at(graph)[signal]
    if row.is_far == 0:
        note_word(graph, signal, 0, word)
        return
    row.word = word
    if row.is_pending == 0 and not _broadcast(graph, row):
        row.is_pending = 1
        graph.pending_edges += 1


@kernel
def _broadcast(graph: RunningGraph, row: SignalRow) -> bool:
    """Write the word to the queues of all workers that there still are; False, and nothing done, where rows of the
    output wait, or there is no room. What waits for Python, and Python's channels, count as well: it may be theirs."""
    if outputs_at(graph)[row.behind].waiting > 0 or graph.for_python != 0 or graph.pending_channels > 0:
        return False
    outgoing, size = queues_at(graph, graph.outgoing), message_words(1, 1)
    if not all_have_room(graph, size):
        return False
    for worker in range(graph.living):
        store_word(begin(outgoing[worker], size, row.channel, 1, 1, 0), row.word)
    graph.unpublished = 1
    return True


@kernel
def retry_signals(graph: RunningGraph) -> bool:
    """Send the words that are pending, as far as that goes; whether one was sent."""
    sent = False
    for signal in range(graph.signals_used):
        row = signals_at(graph)[signal]
        if row.is_pending != 0 and _broadcast(graph, row):
            row.is_pending = 0
            graph.pending_edges -= 1
            sent = True
    return sent
