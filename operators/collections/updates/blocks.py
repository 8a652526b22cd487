"""Blocks of memory for batches: allocated, or, if they are large, mapped, from a file where a spine has one.

A large block is there for long, and among memory that comes and goes it would keep that from being given back.

What is mapped is written out by the system, and let go, when memory is short. The file has no name: nothing is left of
it when its process ends, however that is.
"""

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    Record,
    Words,
    allocate,
    deallocate,
    map_file,
    map_memory,
    release_in_file,
    reserve_in_file,
    table_at,
    unmap,
    words_at,
)

_MAPPED_BYTES = 1 << 20  # smaller blocks are not worth a mapping
_GRAIN_BYTES = 1 << 16  # no system has larger pages


class File(Record):
    """`descriptor`: the file's, -1 for none; `next`: where the next block begins; `mapped`: how many bytes are."""

    descriptor: int
    next: int
    mapped: int


# Where blocks are that are not in the file: in pages of their own, or allocated among others.
IN_MEMORY, IN_HEAP = -1, 0


@kernel
def lent_table(table: Words) -> Words:
    """A view of a table that counts no references; valid as long as the caller's caller has the table. To count one
    takes an atomic instruction each time that an array is passed on, which is most of what a row costs."""
    return table_at(table.ctypes.data, table.shape[0], table.shape[1])


@kernel
def lent_words(words: Words) -> Words:
    """The same of words."""
    return words_at(words.ctypes.data, len(words))


@kernel
def _whole(size_bytes: int) -> int:
    return (size_bytes + _GRAIN_BYTES - 1) // _GRAIN_BYTES * _GRAIN_BYTES


@kernel
def new_block(columns: int, rows: int) -> int:
    """The address of memory for so many words."""
    address = allocate(8 * max(1, columns * rows))
    if address == 0:
        raise MemoryError("no memory for an arrangement")
    return address


@kernel
def try_block(file: File, size_bytes: int) -> tuple[int, int]:
    """(the address of so many bytes, 0 if there are none; where they are: in the file, behind 1, or in IN_MEMORY or
    IN_HEAP)."""
    if file.descriptor >= 0 and size_bytes >= _MAPPED_BYTES:
        place, size = file.next, _whole(size_bytes)
        if reserve_in_file(file.descriptor, place, size) == 0:  # else the disk is full: memory may do
            address = map_file(file.descriptor, place, size)
            if address > 0:
                file.next += size
                file.mapped += size
                return address, place + 1
            release_in_file(file.descriptor, place, size)
    if size_bytes >= _MAPPED_BYTES:
        address = map_memory(_whole(size_bytes))
        if address > 0:
            return address, IN_MEMORY
    return allocate(max(8, size_bytes)), IN_HEAP


@kernel
def free_block(file: File, address: int, place: int, size_bytes: int) -> None:
    """Give back a block of so many bytes."""
    if place == IN_HEAP:
        deallocate(address)
        return
    size = _whole(size_bytes)
    unmap(address, size)
    if place == IN_MEMORY:
        return
    release_in_file(file.descriptor, place - 1, size)
    file.mapped -= size
