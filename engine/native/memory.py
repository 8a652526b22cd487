"""Memory of messages: chunks that are filled in a round of runs and are free again when it ends.

Whatever a message points to stays until the round's end: a column that is passed on needs no count of who reads it. Who
still waits then gets a block of its own, which is freed at the end of the round in which its message is taken.

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
    NEXT,
    OWN_BLOCK,
    ROWS,
    SPILLED,
    STANDING,
    WIDTH,
    WORLD_WORDS,
)
from tokenring.shm.kernels import int64, kernel, void, words_at
from tokenring.shm.memory import allocate, copy_bytes, deallocate

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
def owned_copy(words, message):  # type: ignore[no-untyped-def]
    """The same message in a block of its own."""
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
