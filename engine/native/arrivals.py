"""Messages from peers: those of compiled inputs are delivered here, the others are left to Python."""

from tokenring.engine.native.layout import (
    ARRIVED,
    ARRIVED_FOR_PYTHON,
    ARRIVED_WORDS,
    AT_ONE_TIME,
    CHANNEL_CAPACITY,
    CHANNELS,
    COLUMNS,
    INCOMING,
    KEYS,
    LENT,
    ROWS,
    STOPPED_AT,
    TAKEN,
    TEXT_BASE,
    TIME,
    WIDTH,
    inputs_at,
    queues_at,
)
from tokenring.engine.native.memory import claim_text
from tokenring.engine.native.messages import bare_message, enqueue
from tokenring.engine.native.text_crossing import shifted_texts
from tokenring.shm.kernels import LENGTH_BITS, kernel, words_at
from tokenring.shm.memory import copy_bytes
from tokenring.shm.queues import (
    DATA_ADDRESS,
    INBOX_CHANNEL,
    INBOX_END,
    INBOX_OFFSET,
    INBOX_QUEUE,
    INBOX_ROWS,
    INBOX_STAMP,
    INBOX_STRIDE,
    INBOX_WORDS,
    receive,
)

BURSTS = 1 << 40
"""Added to the input in `channels` where it is bursts that come under the number."""


@kernel
def _take_texts(words, message, texts, bytes_address, size_bytes):  # type: ignore[no-untyped-def]
    """Have texts that came behind their columns in the text space, and words that say so."""
    header = words_at(message, COLUMNS + words_at(message, COLUMNS)[WIDTH])
    is_text = words_at(texts, header[WIDTH])
    offset = claim_text(words, size_bytes)
    copy_bytes(words[TEXT_BASE] + offset, bytes_address, size_bytes)
    for column in range(header[WIDTH]):
        if is_text[column] != 0:
            came = header[COLUMNS + column]
            header[COLUMNS + column] = shifted_texts(words, came, header[ROWS], offset << LENGTH_BITS)


@kernel
def take_in(words):  # type: ignore[no-untyped-def]
    """Take in what has come; the number of messages. ARRIVED_FOR_PYTHON of them stand at the beginning of `arrived`."""
    arrived = words_at(words[ARRIVED], words[ARRIVED_WORDS])
    incoming = queues_at(words, INCOMING)
    found = receive(incoming, arrived)
    if found == 0:
        return 0
    words[TAKEN] = 1
    left = 0
    channels = words_at(words[CHANNELS], words[CHANNEL_CAPACITY])
    for i in range(found):
        entry = i * INBOX_WORDS
        number = arrived[entry + INBOX_CHANNEL]
        target = channels[number] - 1 if number < words[CHANNEL_CAPACITY] else -1
        if target < 0:
            for word in range(INBOX_WORDS):
                arrived[left * INBOX_WORDS + word] = arrived[entry + word]
            left += 1
            continue
        port = target & (BURSTS - 1)
        width = inputs_at(words)[port].width
        words[STOPPED_AT] = inputs_at(words)[port].operator  # for the error, should there be no memory
        message = bare_message(words, width, arrived[entry + INBOX_ROWS])
        header = words_at(message, COLUMNS + width)
        header[TIME] = arrived[entry + INBOX_STAMP]
        at = incoming[arrived[entry + INBOX_QUEUE], DATA_ADDRESS] + 8 * arrived[entry + INBOX_OFFSET]
        stride = 8 * arrived[entry + INBOX_STRIDE]
        for column in range(width):
            header[COLUMNS + column] = at
            at += stride
        end = incoming[arrived[entry + INBOX_QUEUE], DATA_ADDRESS] + 8 * arrived[entry + INBOX_END]
        if inputs_at(words)[port].texts != 0 and end > at:
            _take_texts(words, message, inputs_at(words)[port].texts, at, end - at)
        if target >= BURSTS:
            header[KEYS] = at
            header[AT_ONE_TIME] = header[TIME] >= 0
            if header[TIME] < 0:
                header[TIME] = words_at(at, 1)[0]
        enqueue(words, port, message)
    words[ARRIVED_FOR_PYTHON] = left
    if left > 0:
        words[LENT] = 1
    return found
