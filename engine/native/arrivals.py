"""Messages from peers: those of compiled inputs are delivered here, the others are left to Python.

In loops small ones of one time become one where they wait: each worker sends a part of what it takes to each, so rows
that go round would come one by one in the end.
"""

from tokenring.engine.native.crossing import shifted_texts
from tokenring.engine.native.layout import (
    CHECKED,
    INNER_WORDS,
    InputRow,
    Message,
    RunningGraph,
    addresses_of,
    inputs_at,
    message_at,
    queues_at,
    set_inner,
)
from tokenring.engine.native.memory import lease, lease_text, log_change
from tokenring.engine.native.messages import bare_message, enqueue, note_arrival
from tokenring.engine.native.signals import note_word
from tokenring.engine.progress import same_coordinates
from tokenring.shm.kernels import LENGTH_BITS, kernel, words_at
from tokenring.shm.memory import copy_bytes, load_word
from tokenring.shm.queues import (
    DATA_ADDRESS,
    HEADER_WORDS,
    INBOX_CHANNEL,
    INBOX_END,
    INBOX_OFFSET,
    INBOX_QUEUE,
    INBOX_ROWS,
    INBOX_STAMP,
    INBOX_STRIDE,
    INBOX_WORDS,
    STAMP,
    receive,
)

MOST_TOGETHER = 1 << 10
"""Rows up to which messages are put together; more do not care."""
MOST_LOOKED_AT = 256
"""Waiting messages among which one of the same time is looked for."""
BURSTS = 1 << 40
"""Added to the input in `channels` where it is bursts that come under the number."""
SIGNALS = 1 << 41
"""Added in `channels` to the signal whose words come under the number."""


@kernel
def _take_texts(graph: RunningGraph, message: int, texts: int, bytes_address: int, size_bytes: int) -> None:
    """Have texts that came behind their columns in the text space, and words that say so."""
    header, columns = message_at(message), addresses_of(message)
    is_text = words_at(texts, header.width)
    offset = lease_text(graph, size_bytes)
    copy_bytes(graph.text_base + offset, bytes_address, size_bytes)
    for column in range(header.width):
        if is_text[column] != 0:
            columns[column] = shifted_texts(graph, columns[column], header.rows, offset << LENGTH_BITS)


@kernel
def _make_room(graph: RunningGraph, message: int, rows: int) -> None:
    """Have a message's columns where there is room for so many rows."""
    header, columns = message_at(message), addresses_of(message)
    made = lease(graph, 8 * rows * header.width)
    for column in range(header.width):
        copy_bytes(made + 8 * rows * column, columns[column], 8 * header.rows)
        columns[column] = made + 8 * rows * column
    header.places = rows


@kernel
def _is_same_time(message: Message, other: Message) -> bool:
    return message.time == other.time and same_coordinates(message.inner, other.inner)


@kernel
def _companion(here: InputRow, header: Message) -> int:
    """The last message of that time that waits at an input in a loop, where workers are at different rounds, if it came
    from a peer and the rows of both are few enough; 0 if there is none, or more wait than are looked at. Rows of one
    worker and one time stay in order."""
    found, at, left = 0, here.first, MOST_LOOKED_AT
    while at != 0 and left > 0:
        waits = message_at(at)
        if _is_same_time(waits, header):
            found = at if waits.places != 0 and waits.rows + header.rows <= MOST_TOGETHER else 0
        at, left = waits.next, left - 1
    return found if at == 0 else 0


@kernel
def _joins(graph: RunningGraph, port: int, message: int) -> bool:
    """Put the rows of a message, which is counted, behind those of one of its time that waits; it is consumed then, and
    the other stands for both. Whether there is one."""
    here = inputs_at(graph)[port]
    header = message_at(message)
    companion = 0 if here.depth == 1 else _companion(here, header)
    if companion == 0:
        return False
    other = message_at(companion)
    rows = other.rows + header.rows
    if rows > other.places:
        _make_room(graph, companion, min(4 * rows, MOST_TOGETHER))
    target, columns = addresses_of(companion), addresses_of(message)
    for column in range(header.width):
        copy_bytes(target[column] + 8 * other.rows, columns[column], 8 * header.rows)
    other.rows = rows
    if graph.observed & CHECKED != 0:
        note_arrival(graph, here.location, message)
    log_change(graph, here.location, -1, header.time, header.inner)
    return True


@kernel
def take_in(graph: RunningGraph) -> int:
    """Take in what has come; the number of messages. `arrived_for_python` of them stand at the front of `arrived`."""
    arrived = words_at(graph.arrived, graph.arrived_words)
    incoming = queues_at(graph, graph.incoming)
    found = receive(incoming, arrived)
    if found == 0:
        return 0
    graph.taken = 1
    left = 0
    channels = words_at(graph.channels, graph.channel_capacity)
    for i in range(found):
        entry = i * INBOX_WORDS
        number = arrived[entry + INBOX_CHANNEL]
        target = channels[number] - 1 if number < graph.channel_capacity else -1
        if target < 0:
            for word in range(INBOX_WORDS):
                arrived[left * INBOX_WORDS + word] = arrived[entry + word]
            left += 1
            continue
        queue = arrived[entry + INBOX_QUEUE]
        at = incoming[queue, DATA_ADDRESS] + 8 * arrived[entry + INBOX_OFFSET]
        if target >= SIGNALS:
            note_word(graph, target - SIGNALS, queue, load_word(at))
            continue
        port = target & (BURSTS - 1)
        width = inputs_at(graph)[port].width
        graph.stopped_at = inputs_at(graph)[port].operator  # for the error, should there be no memory
        message = bare_message(graph, width, arrived[entry + INBOX_ROWS])
        header, columns = message_at(message), addresses_of(message)
        header.time = arrived[entry + INBOX_STAMP]
        set_inner(header.inner, words_at(at - 8 * (HEADER_WORDS - STAMP - 1), INNER_WORDS))
        stride = 8 * arrived[entry + INBOX_STRIDE]
        for column in range(width):
            columns[column] = at
            at += stride
        end = incoming[queue, DATA_ADDRESS] + 8 * arrived[entry + INBOX_END]
        if inputs_at(graph)[port].texts != 0 and end > at:
            _take_texts(graph, message, inputs_at(graph)[port].texts, at, end - at)
        if target >= BURSTS:
            header.keys = at
            header.at_one_time = header.time >= 0
            if header.time < 0:
                header.time = words_at(at, 1)[0]
        elif _joins(graph, port, message):
            continue
        else:
            header.places = header.rows
        enqueue(graph, port, message)
    graph.arrived_for_python = left
    if left > 0:
        graph.lent = 1
    return found
