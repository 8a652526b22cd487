"""Memory of messages, and the log of what they change: chunks that are filled in a round of runs, free when it ends.

Whatever a message points to stays until the round's end: a column that is passed on needs no count of who reads it. Who
still waits then gets a block of its own, which is freed at the end of the round in which its message is taken.

Texts that are not common to all workers are in the text space: those made in a round until it ends; those of messages
that wait longer (`keep_texts`) until none waits, or until they are moved together (engine/native/edges.py).

Where the system has no more, MemoryError is raised, through compiled operators too, and that ends the run: LACKED times
LACKED_EACH bytes were asked for.
"""

from tokenring.engine.native.layout import (
    ARRIVED_HERE,
    CHUNK,
    CHUNK_AT,
    CHUNK_END,
    CHUNKS_BYTES,
    COLUMNS,
    FREED,
    KEYS,
    LACKED,
    LACKED_EACH,
    LET_GO,
    LOG,
    LOG_CAPACITY,
    LOG_COUNT,
    LOG_SCRATCH,
    LOG_SCRATCH_WORDS,
    NEXT,
    OBSERVED,
    OWN_BLOCK,
    RING_IS_FULL,
    ROUND_TEXT,
    ROUND_TEXT_AT,
    ROUND_TEXT_END,
    ROWS,
    SPILLED,
    SPILLED_COUNT,
    STANDING,
    TEXT_BASE,
    TEXT_COMMON,
    WAITING_TEXT_AT,
    WAITING_TEXT_END,
    WIDTH,
    WORLD_WORDS,
)
from tokenring.engine.progress import CHANGE_WORDS, net_what_is_left
from tokenring.engine.texts import move_private, moved_bytes
from tokenring.shm.kernels import int64, kernel, void, words_at
from tokenring.shm.memory import allocate, copy_bytes, deallocate, forget_bytes

LINE_BYTES = 64
FIRST_CHUNK_BYTES = 1 << 18
MOST_KEPT_BYTES = 1 << 26
"""Of memory that is kept from round to round; what a round needs beyond it is given back."""
_FIRST_ROWS, _ROW_BYTES = 64, 24  # of a table that grows
_ADDRESS_BITS = 48  # no processor has more
_HEADER_BYTES = LINE_BYTES  # of a chunk: the next one's address, its size


@kernel
def refuse(words, count, each):  # type: ignore[no-untyped-def]
    """Raise MemoryError: there is no memory for `count` things of `each` bytes."""
    words[LACKED], words[LACKED_EACH] = count, each
    raise MemoryError("no memory for messages")


@kernel
def _allocated(words, size_bytes):  # type: ignore[no-untyped-def]
    """`allocate`, or MemoryError."""
    address = allocate(size_bytes)
    if address == 0:
        refuse(words, size_bytes, 1)
    return address


@kernel
def _add_chunk(words, size_bytes):  # type: ignore[no-untyped-def]
    """Begin another chunk, of at least so many bytes."""
    if size_bytes >> _ADDRESS_BITS != 0:
        refuse(words, size_bytes, 1)
    room = max(FIRST_CHUNK_BYTES, words[CHUNKS_BYTES])
    while room < size_bytes + 2 * _HEADER_BYTES:
        room *= 2
    chunk = allocate(room)
    if chunk == 0:
        room = size_bytes + 2 * _HEADER_BYTES
        chunk = _allocated(words, room)
    header = words_at(chunk, 2)
    header[0], header[1] = words[CHUNK], room
    words[CHUNK] = chunk
    words[CHUNKS_BYTES] += room
    _begin_chunk(words, chunk, room)


@kernel
def _begin_chunk(words, chunk, room):  # type: ignore[no-untyped-def]
    words[CHUNK_AT] = (chunk + _HEADER_BYTES + LINE_BYTES - 1) & -LINE_BYTES
    words[CHUNK_END] = chunk + room


@kernel
def claim(words, size_bytes):  # type: ignore[no-untyped-def]
    """The address of so many bytes, at the beginning of a cache line; good until the round's end."""
    padded = (size_bytes + LINE_BYTES - 1) & -LINE_BYTES
    if words[CHUNK_AT] + padded > words[CHUNK_END]:
        _add_chunk(words, padded)
    at = words[CHUNK_AT]
    words[CHUNK_AT] = at + padded
    return at


@kernel
def claim_text(words, size_bytes):  # type: ignore[no-untyped-def]
    """The offset in the text space of so many bytes, good until the round's end."""
    at = words[ROUND_TEXT_AT]
    if at + size_bytes > words[ROUND_TEXT_END]:
        refuse(words, size_bytes, 1)
    words[ROUND_TEXT_AT] = at + size_bytes
    return at


@kernel
def keep_texts(words, column):  # type: ignore[no-untyped-def]
    """Let the texts of a column, which is written to, stay for as long as a message waits."""
    lacking = moved_bytes(column, words[TEXT_COMMON])
    if words[WAITING_TEXT_AT] + lacking > words[WAITING_TEXT_END]:
        refuse(words, lacking, 1)
    words[WAITING_TEXT_AT] = move_private(column, words[TEXT_BASE], words[TEXT_COMMON], words[WAITING_TEXT_AT])


@kernel
def _free_list(words, first):  # type: ignore[no-untyped-def]
    """Free the blocks of the list that begins in the world's word `first`: each has the next one's address in front."""
    block = words[first]
    while block != 0:
        following = words_at(block, 1)[0]
        deallocate(block)
        block = following
    words[first] = 0


@kernel
def free_round(words):  # type: ignore[no-untyped-def]
    """The round is over: its memory is free. Several chunks become one, so that the next round finds room in that."""
    _free_list(words, FREED)
    if words[ROUND_TEXT_AT] - words[ROUND_TEXT] > MOST_KEPT_BYTES:
        forget_bytes(words[TEXT_BASE] + words[ROUND_TEXT], words[ROUND_TEXT_AT] - words[ROUND_TEXT])
    words[ROUND_TEXT_AT] = words[ROUND_TEXT]
    chunk = words[CHUNK]
    if chunk == 0:
        return
    header = words_at(chunk, 2)
    if header[0] == 0 and words[CHUNKS_BYTES] <= MOST_KEPT_BYTES:
        _begin_chunk(words, chunk, header[1])
        return
    room = min(words[CHUNKS_BYTES], MOST_KEPT_BYTES)
    _free_list(words, CHUNK)
    words[CHUNKS_BYTES] = words[CHUNK_AT] = words[CHUNK_END] = 0
    _add_chunk(words, room - 2 * _HEADER_BYTES)


@kernel
def append(words, table, first, second, third):  # type: ignore[no-untyped-def]
    """Note three words behind those of a table that grows: its address, count and capacity are the world's words
    `table` and the two behind."""
    count, capacity = words[table + 1], words[table + 2]
    if count == capacity:
        room = 2 * max(capacity, _FIRST_ROWS)
        grown = _allocated(words, _ROW_BYTES * room)
        if words[table] != 0:
            copy_bytes(grown, words[table], _ROW_BYTES * count)
            deallocate(words[table])
        words[table], words[table + 2] = grown, room
    row = words_at(words[table] + _ROW_BYTES * count, 3)
    row[0], row[1], row[2] = first, second, third
    words[table + 1] = count + 1


@kernel
def log_change(words, location, delta, time):  # type: ignore[no-untyped-def]
    """Log one change. Where the log is full, what is in it is netted; what finds no room even so is spilled, and goes
    into a larger log before anything is published (`CompiledPart.after`).

    What takes the last change back, as taking a message does that was just sent, leaves neither in the log: they are
    published together or not at all. Not while a ring without room lets a part of the log out.
    """
    count = words[LOG_COUNT]
    if count > 0 and words[SPILLED_COUNT] == 0 and words[RING_IS_FULL] == 0 and words[OBSERVED] == 0:
        last = words_at(words[LOG] + 8 * CHANGE_WORDS * (count - 1), CHANGE_WORDS)
        if last[0] == location and last[1] + delta == 0 and last[2] == time:
            words[LOG_COUNT] = count - 1
            return
    if words[SPILLED_COUNT] == 0 and count >= words[LOG_CAPACITY]:
        log = words_at(words[LOG], words[LOG_CAPACITY] * CHANGE_WORDS)
        scratch = words_at(words[LOG_SCRATCH], words[LOG_SCRATCH_WORDS])
        words[LOG_COUNT] = net_what_is_left(log, words[LOG_COUNT], scratch)
        if 2 * words[LOG_COUNT] > words[LOG_CAPACITY]:  # to net again and again would take long
            append(words, SPILLED, location, delta, time)
            return
    if words[SPILLED_COUNT] > 0:
        append(words, SPILLED, location, delta, time)
        return
    count = words[LOG_COUNT]
    change = words_at(words[LOG] + 8 * CHANGE_WORDS * count, CHANGE_WORDS)
    change[0], change[1], change[2], change[3], change[4], change[5] = location, delta, time, 0, 0, 0
    words[LOG_COUNT] = count + 1


@kernel
def owned_copy(words, message, texts):  # type: ignore[no-untyped-def]
    """The same message in a block of its own. texts: where it is told which columns are text, 0 if none is."""
    header = words_at(message, COLUMNS)
    rows, width = header[ROWS], header[WIDTH]
    columns = width + (header[KEYS] != 0)
    copy = _allocated(words, 8 * (COLUMNS + width + columns * rows))
    target, origin = words_at(copy, COLUMNS + width), words_at(message, COLUMNS + width)
    for word in range(COLUMNS):
        target[word] = origin[word]
    target[STANDING], target[NEXT] = OWN_BLOCK, 0
    at = copy + 8 * (COLUMNS + width)
    for column in range(width):
        copy_bytes(at, origin[COLUMNS + column], 8 * rows)
        target[COLUMNS + column] = at
        if texts != 0 and words_at(texts, width)[column] != 0:
            keep_texts(words, words_at(at, rows))
        at += 8 * rows
    if header[KEYS] != 0:
        copy_bytes(at, header[KEYS], 8 * rows)
        target[KEYS] = at
    return copy


@kernel
def let_go(words, message):  # type: ignore[no-untyped-def]
    """A message was taken: free its block, if it has one, when the round ends."""
    header = words_at(message, COLUMNS)
    if header[STANDING] == OWN_BLOCK:
        header[STANDING] = LET_GO
        header[NEXT] = words[FREED]
        words[FREED] = message


@kernel(void(int64))
def free_all(world):  # type: ignore[no-untyped-def]
    """The worker is gone: give back what rounds kept."""
    words = words_at(world, WORLD_WORDS)
    _free_list(words, FREED)
    _free_list(words, CHUNK)
    for table in (SPILLED, ARRIVED_HERE):
        if words[table] != 0:
            deallocate(words[table])
            words[table] = 0
