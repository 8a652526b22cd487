"""The text space: one range of a process's addresses for all texts that compiled code sees; words count from its start.

A word of text has 39 bits for an offset, so the range has as many bytes as that can say. It is reserved without memory;
parts of it get some as they are needed. Files that are mapped into it before workers are forked lie at the same offsets
in all of them, for as long as the process lives: the *common part*. A word into it means the same text in every worker.
Constants of text are there too, and may be added by workers.
"""

import ctypes
import gc
import mmap
import os
from bisect import insort
from pathlib import Path

import numpy as np

from tokenring.shm.kernels import LENGTH_BITS
from tokenring.shm.memory.constant_texts import CONSTANT_BYTES, ConstantTexts

SPACE_BYTES = 1 << 63 - LENGTH_BITS
_COMMON_BYTES = SPACE_BYTES // 2
COPIES_FROM = SPACE_BYTES - SPACE_BYTES // 8
"""The offset from which on there is nothing but copies (`copy_of`), in which nobody writes."""
_LEAST_BYTES = 1 << 36  # that are to be had without memory: a system that counts them has no use for the space
_NO_ACCESS, _MAP_NORESERVE, _MAP_FIXED = 0, 0x4000, 0x10  # of Linux
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _map(address: int | None, size: int, protection: int, flags: int, file: int = -1) -> int:
    found = _libc.mmap(address, size, protection, flags, file, 0)
    if found == _FAILED:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(found)


def _whole_pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


class MappedFile:
    """A file in the text space, read-only and for ever: `octets`, uint8 of shape (bytes,)."""

    def __init__(self, space: "TextSpace", offset: int, size: int) -> None:
        self._address = space.address + offset
        self.offset = offset
        self.octets = space.heap[offset : offset + size]

    def advise(self, advice: int, start: int, stop: int) -> None:
        """Tell the system what is to be done with bytes start..stop, whose first is the first of a page (`madvise`);
        where it refuses, nothing is done."""
        _libc.madvise(self._address + start, stop - start, advice)


class _Copy:
    """Bytes in the text space for as long as an array refers to this, which is what they are of."""

    def __init__(self, space: "TextSpace", octets: np.ndarray) -> None:
        self._space, self._size = space, max(octets.nbytes, 1)
        self._offset = space.allocate(self._size, is_copy=True)
        space.write(self._offset, octets)
        # What numpy makes an array of, and of arrays that are cut out of that, refers to this.
        where = space.address + self._offset, True  # read-only
        self.__array_interface__ = {"version": 3, "shape": (octets.nbytes,), "typestr": "|u1", "data": where}

    def __del__(self) -> None:
        self._space.copies_gone[0] += 1
        self._space.give_back(self._offset, self._size)


class TextSpace:
    """A process's range. `heap` is all of it, as uint8: what words that count from its start point into."""

    def __init__(self) -> None:
        """OSError where the system does not let so many addresses be reserved."""
        self.address = _map(None, SPACE_BYTES, _NO_ACCESS, _ANONYMOUS)
        self.heap: np.ndarray = np.ctypeslib.as_array((ctypes.c_uint8 * SPACE_BYTES).from_address(self.address))
        self.heap.flags.writeable = False
        self._constants = ConstantTexts()
        _map(self.address, CONSTANT_BYTES, _READ_WRITE, mmap.MAP_SHARED | _MAP_FIXED, self._constants.file)
        constants = (ctypes.c_uint8 * CONSTANT_BYTES).from_address(self.address)
        self._constants.are_at(np.ctypeslib.as_array(constants))
        self.common_bytes = CONSTANT_BYTES
        """Offsets below are the common part's."""
        self._maker = os.getpid()
        self._is_sealed = False
        self._apart: dict[bytes, int] = {}  # constants for which there was no room among the others
        self._files: dict[tuple[int, ...], MappedFile] = {}
        self._given: list[tuple[int, int]] = []  # back, of which gaps are still to be made
        self._is_looking = False
        self._gaps = [(_COMMON_BYTES, COPIES_FROM - _COMMON_BYTES), (COPIES_FROM, SPACE_BYTES - COPIES_FROM)]
        """Of the private part: (offset, bytes), ascending."""
        self.copies_gone = np.zeros(1, np.int64)
        """How many copies were given back. As long as that is the same, so are the texts of words from COPIES_FROM on
        of which somebody knows what they are."""

    @property
    def common_words(self) -> int:
        """Words that are less, null among them, need no bytes to be copied, wherever they go."""
        return self.common_bytes << LENGTH_BITS

    def seal(self) -> None:
        """This is a worker: what is mapped from now on, others do not have. If the space is its own, they have nothing
        of it."""
        self._is_sealed = True
        if self._maker == os.getpid():
            self.common_bytes = 0

    def map_file(self, path: Path, size: int) -> MappedFile:
        """A file's first `size` bytes, which are some, mapped here: once, and for as long as the process lives. OSError
        if it cannot be read; MemoryError if there is no room."""
        with open(path, "rb") as file:
            state = os.fstat(file.fileno())
            identity = state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size, size
            known = self._files.get(identity)
            if known is not None:
                return known
            if self._is_sealed:
                offset = self._take(_whole_pages(size))
            else:
                offset = self.common_bytes
                if offset + _whole_pages(size) > _COMMON_BYTES:
                    raise MemoryError("the text space has no room for another file")
            _map(self.address + offset, size, mmap.PROT_READ, mmap.MAP_SHARED | _MAP_FIXED, file.fileno())
        if not self._is_sealed:
            self.common_bytes = offset + _whole_pages(size)
        made = self._files[identity] = MappedFile(self, offset, size)
        return made

    def constant(self, text: bytes) -> int:
        """The word of a text that stays for as long as the process lives: of the common part, as long as there is room
        among constants, and each time the same."""
        offset = self._constants.place(text)
        if offset < 0:
            offset = self._apart.get(text, -1)
        if offset < 0:
            offset = self._apart[text] = self.allocate(max(len(text), 1))
            self.write(offset, np.frombuffer(text, np.uint8))
        return offset << LENGTH_BITS | len(text)

    def offset_of(self, address: int) -> int:
        """How far an address is from the start; -1 if it is none here."""
        offset = address - self.address
        return offset if 0 <= offset < SPACE_BYTES else -1

    def lasts(self, words: np.ndarray, heap: np.ndarray) -> bool:
        """Whether the bytes of texts stay for as long as the process lives, and nobody needs a copy of them."""
        offset = self.offset_of(int(heap.__array_interface__["data"][0]))
        if offset < 0 or not heap.size:
            return False
        if offset + heap.size <= self.common_bytes:
            return True
        return offset == 0 and len(words) > 0 and int(words.max()) < self.common_words

    def allocate(self, size: int, is_copy: bool = False) -> int:
        """The offset of so many bytes of this process's own, which are zeros and take memory once they are written to.
        MemoryError if there is no room. `give_back` ends it. is_copy: among the copies."""
        size = _whole_pages(size)
        try:
            offset = self._take(size, is_copy)
        except MemoryError:
            gc.collect()  # what others have who are gone: workers of groups in this process, in tests
            offset = self._take(size, is_copy)
        try:
            _map(self.address + offset, size, _READ_WRITE, _ANONYMOUS | _MAP_FIXED)
        except OSError as error:
            self.give_back(offset, size)
            raise MemoryError(f"no memory for {size:,} bytes of text ({error.strerror})") from None
        return offset

    def copy_of(self, octets: np.ndarray) -> np.ndarray:
        """The same bytes, uint8 of any length, among this process's own: read-only, and given back when no array refers
        to them any more. MemoryError if there is no room."""
        return np.asarray(_Copy(self, octets))

    def write(self, offset: int, octets: np.ndarray) -> None:
        """Copy bytes, uint8 of any length, to where some were allocated."""
        ctypes.memmove(self.address + offset, octets.ctypes.data, octets.nbytes)

    def give_back(self, offset: int, size: int) -> None:
        """Let what `allocate` gave be used again."""
        self._given.append((offset, _whole_pages(size)))
        if not self._is_looking:
            self._take_back()

    def _take_back(self) -> None:
        """What was given back is gaps. Whoever gives back may be a destructor, called at any point of this class."""
        self._is_looking = True
        try:
            while self._given:
                self._add_gap(*self._given.pop())
        finally:
            self._is_looking = False

    def _add_gap(self, offset: int, size: int) -> None:
        _map(self.address + offset, size, _NO_ACCESS, _ANONYMOUS | _MAP_FIXED)
        insort(self._gaps, (offset, size))
        merged = self._gaps[:1]
        for start, length in self._gaps[1:]:
            before, so_long = merged[-1]
            if before + so_long == start != COPIES_FROM:
                merged[-1] = before, so_long + length
            else:
                merged.append((start, length))
        self._gaps = merged

    def _take(self, size: int, is_copy: bool = False) -> int:
        self._take_back()
        self._is_looking = True
        try:
            return self._first_fit(size, is_copy)
        finally:
            self._is_looking = False

    def _first_fit(self, size: int, is_copy: bool) -> int:
        for at, (offset, room) in enumerate(self._gaps):
            if room >= size and (offset >= COPIES_FROM) == is_copy:
                if room == size:
                    del self._gaps[at]
                else:
                    self._gaps[at] = offset + size, room - size
                return offset
        raise MemoryError(f"the text space has no room for {size:,} bytes")


_space: list[TextSpace | None] = []


def text_space() -> TextSpace | None:
    """This process's, reserved when it is first asked for; None where the system refuses that (`ulimit -v`): texts are
    then not for compiled operators."""
    if not _space:
        try:
            space = TextSpace()
            space.give_back(space.allocate(_LEAST_BYTES), _LEAST_BYTES)
            _space.append(space)
        except (OSError, MemoryError):
            _space.append(None)
    return _space[0]
