"""Messages on their way to peers: exchanged by a key, or a hash of several columns, or copied to all, straight into the
data queues, with the bytes of their texts.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine.columns import Schema, hash_keys, is_hashed, shift
from tokenring.engine.native.layout import (
    EXCHANGE,
    OWN_TIMES,
    EdgeRow,
    HashedColumn,
    RoutingKey,
    RunningGraph,
    addresses_of,
    message_at,
    queues_at,
    set_inner,
)
from tokenring.engine.native.memory import lease, log_change
from tokenring.engine.native.messages import column_of, end_of_message
from tokenring.engine.progress import same_coordinates
from tokenring.engine.texts import is_all_common
from tokenring.shm.kernels import LENGTH_MASK, Words, address_of, kernel, records_at, table_at, words_at
from tokenring.shm.memory import can_pack, copy_bytes, load_word, store_word
from tokenring.shm.queues import (
    FEW_WORKERS,
    MORE_STAMP,
    PAD,
    QUEUE_STATE,
    begin,
    deal,
    has_room,
    message_size,
    message_words,
    pack,
    partition_texts,
    route,
    rows_that_fit,
    send_texts,
)


def link_routing_key(routing: RoutingKey, schema: Schema, key: Sequence[str]) -> np.ndarray:
    """Say which columns of messages the key is. Returns what has to stay as long as they come."""
    kinds = [schema.kind(name) for name in key]
    columns = HashedColumn.new_table(len(key))
    for at, (name, kind) in enumerate(zip(key, kinds, strict=True)):
        columns[at] = schema.position(name), kind.is_text, kind.is_float
    routing.column = -1 if is_hashed(kinds) else schema.position(key[0])
    routing.told, routing.width = address_of(columns), len(columns)
    return columns


@kernel
def hashed_columns(routing: RoutingKey) -> Sequence[HashedColumn]:
    """The columns of a key."""
    return records_at(routing.told, routing.width, HashedColumn)


@kernel
def routing_words(graph: RunningGraph, message: int, routing: RoutingKey) -> Words:
    """What each row of a message goes by, its key or the hash that other workers make of it too: int64 (rows,), good
    until the round's end."""
    rows, count = message_at(message).rows, routing.width
    if routing.column >= 0:
        return words_at(addresses_of(message)[routing.column], rows)
    room = lease(graph, 8 * 3 * count)
    columns, heaps = words_at(room, count), words_at(room + 8 * count, count)
    floats, key = words_at(room + 16 * count, count), hashed_columns(routing)
    for at in range(count):
        columns[at] = addresses_of(message)[key[at].position]
        heaps[at] = graph.text_base if key[at].is_text != 0 else 0
        floats[at] = key[at].is_float
    hashes = words_at(lease(graph, 8 * rows), rows)
    hash_keys(columns, heaps, floats, hashes)
    return hashes


@kernel
def shifted_texts(graph: RunningGraph, address: int, rows: int, by: int) -> int:
    """The address of words of text like those at an address, good until the round's end, which point into the same
    bytes but count from elsewhere: with `by` added to each."""
    made = lease(graph, 8 * rows)
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
    room = lease(graph, 16 * edge.width)
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
def all_have_room(graph: RunningGraph, size: int) -> bool:
    """Whether the queue of every worker that there still is has room for so many words."""
    outgoing = queues_at(graph, graph.outgoing)
    for worker in range(graph.living):
        if not has_room(outgoing[worker], size):
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
    if not all_have_room(graph, message_size(columns, heaps, start, stop)):
        return stop, -1
    for worker in range(graph.living):
        send_texts(columns, heaps, start, stop, outgoing, worker, edge.channel, time)
    return stop, graph.living


@kernel
def _sort_out(keys: Words, start: int, stop: int, orders: Words, counts: Words) -> None:
    """Which rows go to which worker: counts[0, w] of them, in `orders` from counts[1, w] on, counted from `start`.

    orders: int64 scratch of twice as many words as rows. Of two workers both get every row's number, and the next row
    writes over it where it was not meant: nothing has to be guessed, and no count goes through memory.
    """
    workers = counts.shape[1]
    half = len(orders) >> 1
    if workers == 2:
        first = second = 0
        for row in range(stop - start):
            worker = route(keys[start + row], 2)
            orders[first] = orders[half + second] = row
            second += worker
            first += 1 - worker
        counts[0, 0], counts[1, 0], counts[0, 1], counts[1, 1] = first, 0, second, half
        return
    for worker in range(workers):
        counts[0, worker] = 0
    for row in range(stop - start):
        worker = route(keys[start + row], workers)
        orders[row] = worker
        counts[0, worker] += 1
    at = half
    for worker in range(workers):
        counts[1, worker] = at
        at += counts[0, worker]
        counts[0, worker] = 0
    for row in range(stop - start):
        worker = orders[row]
        orders[counts[1, worker] + counts[0, worker]] = row
        counts[0, worker] += 1


@kernel
def partition(
    graph: RunningGraph, message: int, edge: EdgeRow, keys: int, start: int, stop: int, time: int, in_burst: bool
) -> int:
    """Exchange rows start..stop of a message by the column at address `keys`, straight into the queues of their owners,
    the burst's keys with them where they travel as one; the number of messages written, or -1 (nothing written) if a
    queue lacks room."""
    outgoing = queues_at(graph, graph.outgoing)
    workers = edge.workers
    header, columns = message_at(message), addresses_of(message)
    chosen = words_at(edge.columns, edge.width)
    width = edge.width + in_burst
    channel = edge.burst_channel if in_burst else edge.channel
    counts = table_at(graph.counts, graph.counts_rows, workers)
    orders = words_at(graph.routes, graph.routes_words)
    packs = can_pack() and workers <= FEW_WORKERS and not in_burst  # a burst's messages are counted by rows' numbers
    if packs:
        deal(keys, start, stop, graph.routes, counts)
    else:
        _sort_out(words_at(keys, header.rows), start, stop, orders, counts)
    for worker in range(workers):
        if counts[0, worker] > 0 and not has_room(outgoing[worker], message_words(counts[0, worker], width)):
            return -1
    sent = 0
    for worker in range(workers):
        rows = counts[0, worker]
        if rows == 0:
            continue
        at = begin(outgoing[worker], message_words(rows, width), channel, rows, width, time)
        order = words_at(graph.routes + 8 * (0 if packs else counts[1, worker]), rows)
        for position in range(width):
            column = header.keys
            if position < edge.width:
                column = columns[chosen[position]]
            column += 8 * start
            if packs:
                pack(at, column, graph.routes, worker, stop - start)
            else:
                for i in range(rows):
                    store_word(at + 8 * i, load_word(column + 8 * order[i]))
            at += 8 * ((rows + PAD - 1) // PAD * PAD)
        sent += 1
    return sent


@kernel
def broadcast(graph: RunningGraph, message: int, edge: EdgeRow, start: int, stop: int, time: int) -> int:
    """Copy rows start..stop to the queue of every worker that there still is, or to none (-1)."""
    outgoing = queues_at(graph, graph.outgoing)
    rows = stop - start
    size = message_words(rows, edge.width)
    if not all_have_room(graph, size):
        return -1
    columns, chosen = addresses_of(message), words_at(edge.columns, edge.width)
    for worker in range(graph.living):
        at = begin(outgoing[worker], size, edge.channel, rows, edge.width, time)
        for position in range(edge.width):
            copy_bytes(at, columns[chosen[position]] + 8 * start, 8 * rows)
            at += 8 * ((rows + PAD - 1) // PAD * PAD)
    return graph.living


@kernel
def _log_routed(graph: RunningGraph, message: int, edge: EdgeRow, start: int) -> None:
    """Count each message that was made when rows of a burst were exchanged, by what `partition` left behind: rows of
    one key that go to two workers are two."""
    header = message_at(message)
    keys = words_at(header.keys, header.rows)
    counts = table_at(graph.counts, graph.counts_rows, edge.workers)
    messages = 0
    for worker in range(edge.workers):
        order = words_at(graph.routes + 8 * counts[1, worker], counts[0, worker])
        for i in range(len(order)):
            key = keys[start + order[i]]
            if i == 0 or key != keys[start + order[i - 1]]:
                messages += 1
                if header.at_one_time == 0:
                    log_change(graph, edge.location, 1, key, header.inner)
    if header.at_one_time != 0:
        log_change(graph, edge.location, messages, header.time, header.inner)


@kernel
def _write_burst(graph: RunningGraph, message: int, edge: EdgeRow, keys: int, start: int) -> int:
    """Send and count pieces of a burst as such, as far as there is room; where it ends."""
    header = message_at(message)
    while start < header.rows:
        stop = min(header.rows, start + edge.burst_rows)
        time = header.time if header.at_one_time != 0 else OWN_TIMES
        if partition(graph, message, edge, keys, start, stop, time, True) < 0:
            break
        graph.unpublished = 1
        _log_routed(graph, message, edge, start)
        start = stop
    return start


@kernel
def _stamp(graph: RunningGraph, inner: Words) -> None:
    """Let what is written to queues next bear these coordinates behind the first one."""
    outgoing = queues_at(graph, graph.outgoing)
    for worker in range(len(outgoing)):
        set_inner(outgoing[worker, MORE_STAMP:], inner)


@kernel
def write_pieces(graph: RunningGraph, message: int, edge: EdgeRow, start: int, copies: bool) -> int:
    """Send and count pieces of a message from row `start` on, as far as there is room; where it ends. copies: whether
    bytes of texts are to be copied (`has_private_texts`)."""
    inner = message_at(message).inner
    if same_coordinates(inner, graph.no_inner):
        return _write_pieces(graph, message, edge, start, copies)
    _stamp(graph, inner)
    end = _write_pieces(graph, message, edge, start, copies)
    _stamp(graph, graph.no_inner)
    return end


@kernel
def _write_pieces(graph: RunningGraph, message: int, edge: EdgeRow, start: int, copies: bool) -> int:
    """`write_pieces` of a message whose stamp is set."""
    header = message_at(message)
    rows, time = header.rows, header.time
    keys = routing_words(graph, message, edge.key).ctypes.data if edge.kind == EXCHANGE else 0
    if header.keys != 0 and edge.burst_rows > 0 and edge.kind == EXCHANGE:
        start = _write_burst(graph, message, edge, keys, start)
    while start < rows:
        stop = min(rows, start + edge.most_rows)
        if header.keys != 0:  # each message of a burst is one there as well
            stop = min(stop, end_of_message(message, start))
            time = header.time if header.at_one_time != 0 else words_at(header.keys, rows)[start]
        if copies:
            stop, sent = write_texts(graph, message, edge, keys, start, stop, time)
        elif edge.kind == EXCHANGE:
            sent = partition(graph, message, edge, keys, start, stop, time, False)
        else:
            sent = broadcast(graph, message, edge, start, stop, time)
        if sent < 0:
            break
        graph.unpublished = 1
        log_change(graph, edge.location, sent, time, header.inner)
        start = stop
    return start
