"""What crossing to peers needs beyond words of one column: a hash of several as the key, and the bytes of texts."""

from tokenring.engine.columns import hash_keys, shift
from tokenring.engine.native.layout import (
    COLUMNS,
    COUNTS,
    COUNTS_ROWS,
    EXCHANGE,
    LIVING,
    OUTGOING,
    ROUTES,
    ROUTES_WORDS,
    ROWS,
    TEXT_BASE,
    TEXT_COMMON,
    WIDTH,
    queues_at,
)
from tokenring.engine.native.memory import claim
from tokenring.engine.texts import is_all_common
from tokenring.shm.kernels import LENGTH_MASK, kernel, table_at, words_at
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

_POSITION, _IS_TEXT, _IS_FLOAT, HASHED_WORDS = range(4)  # of a column of a key that is hashed


@kernel
def routing_keys(words, message, edge):  # type: ignore[no-untyped-def]
    """The address of what each row of a message goes by: a column, or the hash that other workers make of its key too.
    """
    header = words_at(message, COLUMNS + words_at(message, COLUMNS)[WIDTH])
    if edge.hashed == 0 and edge.key < 0:
        return header[COLUMNS - 1 - edge.key]
    if edge.hashed == 0:
        return header[COLUMNS + words_at(edge.columns, edge.width)[edge.key]]
    count = edge.hashed_columns
    told = table_at(edge.hashed, count, HASHED_WORDS)
    room = claim(words, 8 * 3 * count)
    columns, heaps = words_at(room, count), words_at(room + 8 * count, count)
    floats = words_at(room + 16 * count, count)
    for at in range(count):
        columns[at] = header[COLUMNS + told[at, _POSITION]]
        heaps[at] = words[TEXT_BASE] if told[at, _IS_TEXT] else 0
        floats[at] = told[at, _IS_FLOAT]
    hashes = claim(words, 8 * header[ROWS])
    hash_keys(columns, heaps, floats, words_at(hashes, header[ROWS]))
    return hashes


@kernel
def shifted_texts(words, address, rows, by):  # type: ignore[no-untyped-def]
    """The address of words of text like those at an address, good until the round's end, which point into the same
    bytes but count from elsewhere: with `by` added to each."""
    made = claim(words, 8 * rows)
    shift(words_at(address, rows), by, words_at(made, rows))
    return made


@kernel
def _crossing(message, edge):  # type: ignore[no-untyped-def]
    """A message's words; of its columns, which are text; the positions of those that cross."""
    header = words_at(message, COLUMNS + words_at(message, COLUMNS)[WIDTH])
    return header, words_at(edge.texts, header[WIDTH]), words_at(edge.columns, edge.width)


@kernel
def has_private_texts(words, message, edge):  # type: ignore[no-untyped-def]
    """Whether bytes are to be copied, of texts of the columns that cross."""
    if edge.texts == 0:
        return False
    header, is_text, chosen = _crossing(message, edge)
    for at in range(edge.width):
        if is_text[chosen[at]] != 0:
            if not is_all_common(words_at(header[COLUMNS + chosen[at]], header[ROWS]), words[TEXT_COMMON]):
                return True
    return False


@kernel
def _with_heaps(words, message, edge):  # type: ignore[no-untyped-def]
    """The addresses of the columns that cross, and of what their words of text point into, 0 for others."""
    header, is_text, chosen = _crossing(message, edge)
    room = claim(words, 16 * edge.width)
    columns, heaps = words_at(room, edge.width), words_at(room + 8 * edge.width, edge.width)
    for at in range(edge.width):
        columns[at] = header[COLUMNS + chosen[at]]
        heaps[at] = words[TEXT_BASE] if is_text[chosen[at]] else 0
    return columns, heaps


@kernel
def largest_row_fits(words, message, edge):  # type: ignore[no-untyped-def]
    """Whether each row of a message, its texts with it, fits into a message of the queue."""
    header, is_text, chosen = _crossing(message, edge)
    room = 8 * (edge.limit_words - message_words(1, edge.width))
    for row in range(header[ROWS]):
        octets = 0
        for at in range(edge.width):
            if is_text[chosen[at]] != 0:
                word = words_at(header[COLUMNS + chosen[at]], header[ROWS])[row]
                octets += word & LENGTH_MASK if word >= 0 else 0
        if (octets + 8 * PAD - 1) // (8 * PAD) * (8 * PAD) > room:
            return False
    return True


@kernel
def write_texts(words, message, edge, keys, start, stop, time):  # type: ignore[no-untyped-def]
    """Send rows from `start` on, to `stop` or as many as fit into a message, and the bytes of their texts. Returns the
    row behind the last one, and the number of messages written, -1 (nothing written) if a queue lacks room."""
    columns, heaps = _with_heaps(words, message, edge)
    stop = rows_that_fit(columns, heaps, start, stop, edge.limit_words)
    if edge.kind == EXCHANGE:
        rows = words_at(message, COLUMNS)[ROWS]
        receivers = table_at(words[OUTGOING], edge.workers, QUEUE_STATE)
        counts = table_at(words[COUNTS], words[COUNTS_ROWS], edge.workers)
        routes = words_at(words[ROUTES], words[ROUTES_WORDS])
        return stop, partition_texts(
            columns, heaps, words_at(keys, rows), start, stop, receivers, routes, counts, edge.channel, time
        )
    outgoing = queues_at(words, OUTGOING)
    size = message_size(columns, heaps, start, stop)
    for worker in range(words[LIVING]):
        if not has_room(outgoing[worker], size):
            return stop, -1
    for worker in range(words[LIVING]):
        send_texts(columns, heaps, start, stop, outgoing, worker, edge.channel, time)
    return stop, words[LIVING]
