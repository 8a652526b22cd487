"""Edges of compiled operators: within the worker, through the data queues, and to who is Python's.

What a full queue does not take waits in its edge with a token of its own at the output it comes from, as in the
channels of Python's operators, and for the same reason (docs/concurrency.md, A7).
"""

from tokenring.engine.native.changes import log_change
from tokenring.engine.native.layout import (
    AT_ONE_TIME,
    BACKLOG_BYTES,
    BACKLOG_LIMIT_BYTES,
    BROADCAST,
    COLUMNS,
    CONGESTED_FLAGS,
    COUNTS,
    COUNTS_ROWS,
    EDGE_NUMBER,
    EDGES_USED,
    EXCHANGE,
    FOR_PYTHON,
    FRESH,
    KEYS,
    LAST_FOR_PYTHON,
    LENT,
    LOCAL,
    ME,
    NEXT,
    ON_ITS_WAY,
    OUTGOING,
    OWN_TIMES,
    PENDING_EDGES,
    ROUTES,
    ROUTES_WORDS,
    ROWS,
    STAGE,
    STAGE_MESSAGE,
    STAGE_ROW,
    STAGE_WORDS,
    STANDING,
    TIME,
    UNPUBLISHED,
    WIDTH,
    WORKERS,
    edges_at,
    operators_at,
    outputs_at,
    queues_at,
    world_at,
)
from tokenring.engine.native.memory import claim, let_go, owned_copy
from tokenring.engine.native.messages import alias_of, end_of_message, enqueue, log_messages
from tokenring.engine.native.wrongs import EXPIRED_BURST, NO_SUCH_OUTPUT, STAGE_FAILED, WRONG_WIDTH, fail
from tokenring.shm.kernels import kernel, table_at, words_at
from tokenring.shm.memory import call_at, copy_bytes, load_word, store_word
from tokenring.shm.queues import PAD, begin, clear_flag, has_room, message_words, route, set_flag

_NOTE_WORDS = 4


@kernel
def _sort_out(keys, start, stop, orders, counts):  # type: ignore[no-untyped-def]
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
def partition(words, message, edge, start, stop, time, in_burst):  # type: ignore[no-untyped-def]
    """Exchange rows start..stop of a message by their key, straight into the queues of their owners, their keys
    with them where they travel as a burst; the number of messages written, or -1 (nothing written) if a queue lacks
    room."""
    outgoing = queues_at(words, OUTGOING)
    workers = words[WORKERS]
    header = words_at(message, COLUMNS + words_at(message, COLUMNS)[WIDTH])
    chosen = words_at(edge.columns, edge.width)
    width = edge.width + in_burst
    channel = edge.burst_channel if in_burst else edge.channel
    counts = table_at(words[COUNTS], words[COUNTS_ROWS], workers)
    orders = words_at(words[ROUTES], words[ROUTES_WORDS])
    _sort_out(words_at(header[COLUMNS + chosen[edge.key]], header[ROWS]), start, stop, orders, counts)
    for worker in range(workers):
        if counts[0, worker] > 0 and not has_room(outgoing[worker], message_words(counts[0, worker], width)):
            return -1
    sent = 0
    for worker in range(workers):
        rows = counts[0, worker]
        if rows == 0:
            continue
        at = begin(outgoing[worker], message_words(rows, width), channel, rows, width, time)
        order = words_at(words[ROUTES] + 8 * counts[1, worker], rows)
        for position in range(width):
            column = header[KEYS]
            if position < edge.width:
                column = header[COLUMNS + chosen[position]]
            column += 8 * start
            for i in range(rows):
                store_word(at + 8 * i, load_word(column + 8 * order[i]))
            at += 8 * ((rows + PAD - 1) // PAD * PAD)
        sent += 1
    return sent


@kernel
def broadcast(words, message, edge, start, stop, time):  # type: ignore[no-untyped-def]
    """Copy rows start..stop to every worker's queue, or to none (-1)."""
    outgoing = queues_at(words, OUTGOING)
    rows = stop - start
    size = message_words(rows, edge.width)
    for worker in range(words[WORKERS]):
        if not has_room(outgoing[worker], size):
            return -1
    header = words_at(message, COLUMNS + words_at(message, COLUMNS)[WIDTH])
    chosen = words_at(edge.columns, edge.width)
    for worker in range(words[WORKERS]):
        at = begin(outgoing[worker], size, edge.channel, rows, edge.width, time)
        for position in range(edge.width):
            copy_bytes(at, header[COLUMNS + chosen[position]] + 8 * start, 8 * rows)
            at += 8 * ((rows + PAD - 1) // PAD * PAD)
    return words[WORKERS]


@kernel
def _log_routed(words, message, location, start, stop):  # type: ignore[no-untyped-def]
    """Count each message that was made when rows of a burst were exchanged: rows of one key that go to two workers are
    two."""
    header = words_at(message, COLUMNS)
    keys = words_at(header[KEYS], header[ROWS])
    routes = words_at(words[ROUTES], words[ROUTES_WORDS])
    last = words_at(words[COUNTS], words[WORKERS])
    for worker in range(words[WORKERS]):
        last[worker] = -1
    messages = 0
    for i in range(start, stop):
        worker = routes[i - start]
        if last[worker] != keys[i]:
            last[worker] = keys[i]
            messages += 1
            if header[AT_ONE_TIME] == 0:
                log_change(words, location, 1, keys[i])
    if header[AT_ONE_TIME]:
        log_change(words, location, messages, header[TIME])


@kernel
def _write_burst(words, message, edge, start):  # type: ignore[no-untyped-def]
    """Send and count pieces of a burst as such, as far as there is room; where it ends."""
    header = words_at(message, COLUMNS)
    while start < header[ROWS]:
        stop = min(header[ROWS], start + edge.burst_rows)
        if partition(words, message, edge, start, stop, header[TIME] if header[AT_ONE_TIME] else OWN_TIMES, True) < 0:
            break
        words[UNPUBLISHED] = 1
        _log_routed(words, message, edge.location, start, stop)
        start = stop
    return start


@kernel
def _write(words, message, edge, start):  # type: ignore[no-untyped-def]
    """Send and count pieces of a message from row `start` on, as far as there is room; where it ends."""
    header = words_at(message, COLUMNS)
    rows, time = header[ROWS], header[TIME]
    if header[KEYS] != 0 and edge.burst_rows > 0 and edge.kind == EXCHANGE:
        start = _write_burst(words, message, edge, start)
    while start < rows:
        stop = min(rows, start + edge.most_rows)
        if header[KEYS] != 0:  # each message of a burst is one there as well
            stop = min(stop, end_of_message(message, start))
            time = header[TIME] if header[AT_ONE_TIME] else words_at(header[KEYS], rows)[start]
        if edge.kind == EXCHANGE:
            sent = partition(words, message, edge, start, stop, time, False)
        else:
            sent = broadcast(words, message, edge, start, stop, time)
        if sent < 0:
            break
        words[UNPUBLISHED] = 1
        log_change(words, edge.location, sent, time)
        start = stop
    return start


@kernel
def _congest(words, is_so):  # type: ignore[no-untyped-def]
    """Say whether too much of this worker's waits for room: sources pause everywhere."""
    if is_so:
        set_flag(words[CONGESTED_FLAGS], words[ME])
    else:
        clear_flag(words[CONGESTED_FLAGS], words[ME])


@kernel
def _postpone(words, message, edge, start):  # type: ignore[no-untyped-def]
    """Keep a message of which rows from `start` on did not fit, with a token of its own."""
    kept = owned_copy(message)
    header = words_at(kept, COLUMNS)
    if edge.pending == 0:
        edge.pending, edge.pending_at = kept, start
        words[PENDING_EDGES] += 1
    else:
        words_at(edge.last_pending, COLUMNS)[NEXT] = kept
    edge.last_pending = kept
    log_change(words, edge.origin, 1, header[TIME])
    outputs_at(words)[edge.output].held += 1
    words[BACKLOG_BYTES] += 8 * header[ROWS] * header[WIDTH]
    if words[BACKLOG_BYTES] > words[BACKLOG_LIMIT_BYTES]:
        _congest(words, True)


@kernel
def retry(words):  # type: ignore[no-untyped-def]
    """Send what waits for room, in order, as far as it goes; whether something was sent."""
    if words[PENDING_EDGES] == 0:
        return False
    sent = False
    edges = edges_at(words)
    for number in range(words[EDGES_USED]):
        edge = edges[number]
        while edge.pending != 0:
            message = edge.pending
            header = words_at(message, COLUMNS)
            at = _write(words, message, edge, edge.pending_at)
            sent |= at > edge.pending_at
            edge.pending_at = at
            if at < header[ROWS]:
                break
            edge.pending, edge.pending_at = header[NEXT], 0
            log_change(words, edge.origin, -1, header[TIME])
            outputs_at(words)[edge.output].held -= 1
            words[BACKLOG_BYTES] -= 8 * header[ROWS] * header[WIDTH]
            let_go(words, message)
            if edge.pending == 0:
                words[PENDING_EDGES] -= 1
            if words[BACKLOG_BYTES] <= words[BACKLOG_LIMIT_BYTES] // 2:
                _congest(words, False)
    return sent


@kernel
def _hand_to_python(words, message, edge, number):  # type: ignore[no-untyped-def]
    """Let a message wait for Python, which takes it on; until then a token stands for it."""
    header = words_at(message, COLUMNS)
    header[EDGE_NUMBER], header[NEXT], header[STANDING] = number, 0, ON_ITS_WAY
    words[LENT] = 1
    log_messages(words, edge.origin, 1, message)
    outputs_at(words)[edge.output].held += 1
    if words[FOR_PYTHON] == 0:
        words[FOR_PYTHON] = message
    else:
        words_at(words[LAST_FOR_PYTHON], COLUMNS)[NEXT] = message
    words[LAST_FOR_PYTHON] = message


@kernel
def _through(world, edge, message):  # type: ignore[no-untyped-def]
    """What the stage of an edge makes of a message; in an error a row counts from the beginning of its message, of
    which a burst has several."""
    state = words_at(edge.state, STAGE_WORDS)
    state[STAGE_MESSAGE] = message
    made = call_at(edge.logic, world, edge.state)
    header = words_at(message, COLUMNS)
    if made > 0:
        target = words_at(made, COLUMNS)
        if target[ROWS] == 0:
            return 0
        target[TIME], target[AT_ONE_TIME] = header[TIME], header[AT_ONE_TIME]
        if target[KEYS] != 0 and header[AT_ONE_TIME] == 0:
            target[TIME] = words_at(target[KEYS], 1)[0]
    elif made < 0 and header[KEYS] != 0:
        keys, row = words_at(header[KEYS], header[ROWS]), state[STAGE_ROW]
        while row > 0 and keys[row - 1] == keys[row]:
            row -= 1
        state[STAGE_ROW] -= row
    return made


@kernel
def _add_to_do(words, before, message, first, edges):  # type: ignore[no-untyped-def]
    """Note that a message is to go to these edges as well, before what was noted `before`: the note's address."""
    note = claim(words, 8 * _NOTE_WORDS)
    written = words_at(note, _NOTE_WORDS)
    written[0], written[1], written[2], written[3] = before, message, first, edges
    return note


@kernel
def send_at(world, me, output, message, time):  # type: ignore[no-untyped-def]
    """Hand a message to all that read the operator's output number `output`, at a time that it may send at. What came
    or was sent before may be sent: it goes on under another header. No recursion where stages branch: what they make
    waits in notes."""
    words = world_at(world)
    sender = operators_at(words)[me]
    if output < 0 or output >= sender.outputs:
        fail(world, me, NO_SUCH_OUTPUT, output, sender.outputs, 0)
        return
    here = outputs_at(words)[sender.first_output + output]
    header = words_at(message, COLUMNS)
    if header[WIDTH] != here.width:
        fail(world, me, WRONG_WIDTH, output, here.width, header[WIDTH])
        return
    if header[ROWS] == 0:
        return
    if header[KEYS] != 0 and header[AT_ONE_TIME] == 0 and words_at(header[KEYS], 1)[0] < time:
        fail(world, me, EXPIRED_BURST, words_at(header[KEYS], 1)[0], time, 0)
        return
    if header[STANDING] != FRESH:
        message = alias_of(words, message, 0, header[WIDTH])
        header = words_at(message, COLUMNS)
    header[TIME] = time
    first, count = here.first_edge, here.edges
    edges = edges_at(words)
    used = False
    to_do = 0
    while True:
        for number in range(first, first + count):
            edge = edges[number]
            if edge.kind == LOCAL:
                onward = message
                if used or edge.columns != 0:
                    onward = alias_of(words, message, edge.columns, edge.width)
                used |= onward == message
                log_messages(words, edge.location, 1, onward)
                enqueue(words, edge.target, onward)
            elif edge.kind == EXCHANGE or edge.kind == BROADCAST:
                at = 0
                if edge.pending == 0:
                    at = _write(words, message, edge, 0)
                if at < header[ROWS]:
                    _postpone(words, message, edge, at)
            elif edge.kind == STAGE:
                made = _through(world, edge, message)
                if made < 0:
                    fail(world, me, STAGE_FAILED, number, -1 - made, words_at(edge.state, STAGE_WORDS)[STAGE_ROW])
                    return
                if made > 0:
                    to_do = _add_to_do(words, to_do, made, edge.first_edge, edge.edges)
            else:
                onward = message
                if used:
                    onward = alias_of(words, message, 0, header[WIDTH])
                used = True
                _hand_to_python(words, onward, edge, number)
        if to_do == 0:
            return
        note = words_at(to_do, _NOTE_WORDS)
        to_do, message, first, count = note[0], note[1], note[2], note[3]
        header = words_at(message, COLUMNS)
        used = header[STANDING] != FRESH
