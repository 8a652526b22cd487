"""What crossing to peers needs beyond words of one column: a hash of several as the key, and the bytes of texts."""

from tokenring.engine.columns import hash_keys, shift
from tokenring.engine.native.layout import EXCHANGE, EdgeRow, RunningGraph, addresses_of, message_at, queues_at
from tokenring.engine.native.memory import claim
from tokenring.engine.native.messages import column_of
from tokenring.engine.texts import is_all_common
from tokenring.shm.kernels import LENGTH_MASK, Record, Words, kernel, records_at, table_at, words_at
from tokenring.shm.queues import (
    PAD,
    QUEUE_STATE,
    has_room,
    message_size,
    message_words,
    partition_texts,
    rows_that_fit,
    send_texts,
)


class HashedColumn(Record):
    """A column of a key that is hashed."""

    position: int
    is_text: int
    is_float: int


HASHED_WORDS = HashedColumn.size


@kernel
def routing_keys(graph: RunningGraph, message: int, edge: EdgeRow) -> int:
    """The address of what each row of a message goes by: a column, or the hash that other workers make of its key too.
    """
    header, brought = message_at(message), addresses_of(message)
    if edge.hashed == 0 and edge.key < 0:
        return brought[-1 - edge.key]
    if edge.hashed == 0:
        return brought[words_at(edge.columns, edge.width)[edge.key]]
    count = edge.hashed_columns
    told = records_at(edge.hashed, count, HashedColumn)
    room = claim(graph, 8 * 3 * count)
    columns, heaps = words_at(room, count), words_at(room + 8 * count, count)
    floats = words_at(room + 16 * count, count)
    for at in range(count):
        columns[at] = brought[told[at].position]
        heaps[at] = graph.text_base if told[at].is_text != 0 else 0
        floats[at] = told[at].is_float
    hashes = claim(graph, 8 * header.rows)
    hash_keys(columns, heaps, floats, words_at(hashes, header.rows))
    return hashes


@kernel
def shifted_texts(graph: RunningGraph, address: int, rows: int, by: int) -> int:
    """The address of words of text like those at an address, good until the round's end, which point into the same
    bytes but count from elsewhere: with `by` added to each."""
    made = claim(graph, 8 * rows)
    shift(words_at(address, rows), by, words_at(made, rows))
    return made


@kernel
def _crossing(message: int, edge: EdgeRow) -> tuple[Words, Words]:
    """Of a message's columns, which are text; the positions of those that cross."""
    return words_at(edge.texts, message_at(message).width), words_at(edge.columns, edge.width)


@kernel
def has_private_texts(graph: RunningGraph, message: int, edge: EdgeRow) -> bool:
    """Whether bytes are to be copied, of texts of the columns that cross."""
    if edge.texts == 0:
        return False
    is_text, chosen = _crossing(message, edge)
    for at in range(edge.width):
        if is_text[chosen[at]] != 0:
            if not is_all_common(column_of(message, chosen[at]), graph.text_common):
                return True
    return False


@kernel
def _with_heaps(graph: RunningGraph, message: int, edge: EdgeRow) -> tuple[Words, Words]:
    """The addresses of the columns that cross, and of what their words of text point into, 0 for others."""
    is_text, chosen = _crossing(message, edge)
    room = claim(graph, 16 * edge.width)
    columns, heaps = words_at(room, edge.width), words_at(room + 8 * edge.width, edge.width)
    for at in range(edge.width):
        columns[at] = addresses_of(message)[chosen[at]]
        heaps[at] = graph.text_base if is_text[chosen[at]] != 0 else 0
    return columns, heaps


@kernel
def largest_row_fits(graph: RunningGraph, message: int, edge: EdgeRow) -> bool:
    """Whether each row of a message, its texts with it, fits into a message of the queue."""
    is_text, chosen = _crossing(message, edge)
    room = 8 * (edge.limit_words - message_words(1, edge.width))
    for row in range(message_at(message).rows):
        octets = 0
        for at in range(edge.width):
            if is_text[chosen[at]] != 0:
                word = column_of(message, chosen[at])[row]
                octets += word & LENGTH_MASK if word >= 0 else 0
        if (octets + 8 * PAD - 1) // (8 * PAD) * (8 * PAD) > room:
            return False
    return True


@kernel
def write_texts(
    graph: RunningGraph, message: int, edge: EdgeRow, keys: int, start: int, stop: int, time: int
) -> tuple[int, int]:
    """Send rows from `start` on, to `stop` or as many as fit into a message, and the bytes of their texts. Returns the
    row behind the last one, and the number of messages written, -1 (nothing written) if a queue lacks room."""
    columns, heaps = _with_heaps(graph, message, edge)
    stop = rows_that_fit(columns, heaps, start, stop, edge.limit_words)
    if edge.kind == EXCHANGE:
        rows = message_at(message).rows
        receivers = table_at(graph.outgoing, edge.workers, QUEUE_STATE)
        counts = table_at(graph.counts, graph.counts_rows, edge.workers)
        routes = words_at(graph.routes, graph.routes_words)
        return stop, partition_texts(
            columns, heaps, words_at(keys, rows), start, stop, receivers, routes, counts, edge.channel, time
        )
    outgoing = queues_at(graph, graph.outgoing)
    size = message_size(columns, heaps, start, stop)
    for worker in range(graph.living):
        if not has_room(outgoing[worker], size):
            return stop, -1
    for worker in range(graph.living):
        send_texts(columns, heaps, start, stop, outgoing, worker, edge.channel, time)
    return stop, graph.living
