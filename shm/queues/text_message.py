"""Messages with text: columns as in `tokenring.shm.queues.data_queue`, and behind them the bytes that their words of
text point into.

Where no column has a heap to copy from, nothing is behind the columns, and words of text count from the start of the
text space, whose common part all workers have (shm/memory/text_space.py). Otherwise the offsets in words of text
(shm/kernels/views.py) count from the first byte behind the columns.

Columns and heaps are given by address, int64 of shape (columns,); a heap of 0 says that the column is none of text. So
one kernel serves all schemas: next to copying text, looking up an address costs nothing.
"""

from tokenring.shm.kernels import COLUMN, LENGTH_MASK, TABLE, WORDS, Words, boolean, copy_text, int64, kernel
from tokenring.shm.memory import load_word, store_word
from tokenring.shm.queues.data_queue import HEADER_WORDS, PAD, begin, has_room, message_words, route

SCRATCH_ROWS = 6
"""Rows of `counts`: rows, next word's address, words between columns, bytes of text, the heap's and the columns' start.
"""
_ROWS, _AT, _STRIDE, _BYTES, _HEAP, _START = range(SCRATCH_ROWS)


@kernel
def _text_words(octets: int) -> int:
    """Words that so many bytes of text occupy, padding included."""
    return (octets + 8 * PAD - 1) // (8 * PAD) * PAD


@kernel
def _row_bytes(columns: Words, heaps: Words, row: int) -> int:
    """Bytes of text in a row."""
    found = 0
    for column in range(len(columns)):
        if heaps[column] != 0:
            word = load_word(columns[column] + 8 * row)
            if word >= 0:
                found += word & LENGTH_MASK
    return found


@kernel(int64(WORDS, WORDS, int64, int64, int64))
def rows_that_fit(columns: Words, heaps: Words, start: int, stop: int, limit_words: int) -> int:
    """The greatest stop up to `stop` such that rows start..stop are no larger, as one message, than `limit_words`."""
    octets = 0
    for row in range(start, stop):
        octets += _row_bytes(columns, heaps, row)
        if message_words(row + 1 - start, len(columns)) + _text_words(octets) > limit_words:
            return row
    return stop


@kernel(int64(WORDS, WORDS, int64, int64))
def message_size(columns: Words, heaps: Words, start: int, stop: int) -> int:
    """Words that rows start..stop occupy as one message."""
    octets = 0
    for row in range(start, stop):
        octets += _row_bytes(columns, heaps, row)
    return message_words(stop - start, len(columns)) + _text_words(octets)


@kernel(int64(WORDS, WORDS, COLUMN, int64, int64, TABLE, WORDS, TABLE, int64, int64))
def partition_texts(
    columns: Words, heaps: Words, keys: Words, start: int, stop: int, outgoing: Words, routes: Words, counts: Words,
    channel: int, stamp: int,
) -> int:  # fmt: skip
    """Exchange rows start..stop by `keys`, as `partition_for` does: all of them or none. Returns how many messages;
    -1 - w where worker w's queue lacks room, and counts[0, w] is then how many words that takes.

    keys: int64 of shape (rows,); routes: int64 scratch of at least stop - start; counts: of (SCRATCH_ROWS, workers).
    """
    workers, width = outgoing.shape[0], len(columns)
    for worker in range(workers):
        counts[_ROWS, worker] = 0
        counts[_BYTES, worker] = 0
    for row in range(start, stop):
        worker = route(keys[row], workers)
        routes[row - start] = worker
        counts[_ROWS, worker] += 1
        counts[_BYTES, worker] += _row_bytes(columns, heaps, row)
    for worker in range(workers):
        rows = counts[_ROWS, worker]
        words = message_words(rows, width) + _text_words(counts[_BYTES, worker])
        if rows > 0 and not has_room(outgoing[worker], words):
            counts[_ROWS, worker] = words
            return -1 - worker
    sent = 0
    for worker in range(workers):
        rows = counts[_ROWS, worker]
        if rows > 0:
            words = message_words(rows, width)
            first = begin(outgoing[worker], words + _text_words(counts[_BYTES, worker]), channel, rows, width, stamp)
            counts[_START, worker] = first
            counts[_STRIDE, worker] = 8 * ((rows + PAD - 1) // PAD * PAD)
            counts[_HEAP, worker] = first + 8 * (words - HEADER_WORDS)
            counts[_BYTES, worker] = 0
            sent += 1
    for column in range(width):
        source, heap = columns[column], heaps[column]
        for worker in range(workers):
            counts[_AT, worker] = counts[_START, worker] + column * counts[_STRIDE, worker]
        for row in range(start, stop):
            worker = routes[row - start]
            word = load_word(source + 8 * row)
            if heap != 0 and word >= 0:
                at = counts[_BYTES, worker]
                counts[_BYTES, worker] = at + (word & LENGTH_MASK)
                word = copy_text(word, heap, counts[_HEAP, worker], at)
            store_word(counts[_AT, worker], word)
            counts[_AT, worker] += 8
    return sent


@kernel(boolean(WORDS, WORDS, int64, int64, TABLE, int64, int64, int64))
def send_texts(
    columns: Words, heaps: Words, start: int, stop: int, outgoing: Words, worker: int, channel: int, stamp: int
) -> bool:
    """Copy rows start..stop to one worker's queue; False (nothing written) if it lacks room."""
    queue = outgoing[worker]
    rows, width = stop - start, len(columns)
    size = message_size(columns, heaps, start, stop)
    if not has_room(queue, size):
        return False
    first = begin(queue, size, channel, rows, width, stamp)
    stride = 8 * ((rows + PAD - 1) // PAD * PAD)
    target, end = first + width * stride, 0
    for column in range(width):
        source, heap, at = columns[column], heaps[column], first + column * stride
        for row in range(start, stop):
            word = load_word(source + 8 * row)
            if heap != 0 and word >= 0:
                length = word & LENGTH_MASK
                word = copy_text(word, heap, target, end)
                end += length
            store_word(at, word)
            at += 8
    return True
