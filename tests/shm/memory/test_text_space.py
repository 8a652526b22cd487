"""The text space: files at the same place in processes that are forked later, memory that is given back."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.errors import raises
from tokenring.shm.memory.constant_texts import CONSTANT_BYTES
from tokenring.shm.memory.text_space import COPIES_FROM, SPACE_BYTES, TextSpace, text_space


def made() -> TextSpace:
    space = text_space()
    assert space is not None and space is text_space()
    return space


def test_a_file_is_mapped_once_and_for_ever(tmp_path: Path) -> None:
    space = made()
    file = tmp_path / "texts"
    file.write_bytes(b"for ever")
    mapped = space.map_file(file, 8)
    file.unlink()
    assert bytes(mapped.octets) == b"for ever"
    offset = space.offset_of(mapped.octets.ctypes.data)
    assert 0 <= offset < space.common_bytes
    assert bytes(space.heap[offset : offset + 3]) == b"for"
    assert space.lasts(np.array([5], np.int64), mapped.octets)
    word = offset << 24 | 8
    assert word < space.common_words and space.lasts(np.array([word, -1]), space.heap)
    assert not space.lasts(np.array([space.common_words]), space.heap)
    assert not space.lasts(np.array([5]), np.zeros(9, np.uint8))


def test_the_same_file_is_not_mapped_again(tmp_path: Path) -> None:
    file = tmp_path / "texts"
    file.write_bytes(b"once")
    assert made().map_file(file, 4) is made().map_file(file, 4)
    with pytest.raises(FileNotFoundError):
        made().map_file(tmp_path / "none", 4)


def test_what_a_worker_maps_others_do_not_have(tmp_path: Path) -> None:
    file = tmp_path / "texts"
    file.write_bytes(b"mine")
    space = TextSpace()
    space.seal()
    mapped = space.map_file(file, 4)
    assert bytes(mapped.octets) == b"mine"
    assert space.common_bytes == 0 and not space.lasts(np.array([5]), mapped.octets)


def test_a_constant_has_one_word_in_all_processes_that_share_it() -> None:
    space = TextSpace()
    texts = [b"apple", b"", "\u00e4\u00f6".encode(), b"x" * 1000]
    first = space.constant(texts[0])
    child = os.fork()
    if child == 0:
        space.seal()
        is_so = first == space.constant(texts[0])
        for text in reversed(texts):
            is_so &= space.constant(text) < space.common_words
        os._exit(0 if is_so else 1)
    assert os.waitpid(child, 0)[1] == 0
    taken = [space.constant(text) for text in texts]
    assert len(set(taken)) == len(texts) and space.constant(texts[1]) == taken[1]
    for word, text in zip(taken, texts, strict=True):
        assert bytes(space.heap[word >> 24 : (word >> 24) + (word & 0xFFFFFF)]) == text
        assert space.lasts(np.array([word]), space.heap)


def test_constants_without_room_are_apart() -> None:
    space = TextSpace()
    large = [bytes([at]) * (CONSTANT_BYTES // 2) for at in range(3)]
    words = [space.constant(text) for text in large]
    assert [word < space.common_words for word in words] == [True, False, False]
    assert words == [space.constant(text) for text in large]
    for word, text in zip(words, large, strict=True):
        assert bytes(space.heap[word >> 24 : (word >> 24) + len(text)]) == text


def test_claimed_bytes_are_zeros_each_time_and_their_gaps_close() -> None:
    space = TextSpace()
    whole = list(space._gaps)
    parts = [space.allocate(size) for size in (5000, 1, 1 << 33)]
    assert len(set(parts)) == 3
    for offset in parts:
        ctypes.memset(space.address + offset, 65, 10)
    space.give_back(parts[1], 1)
    assert space.allocate(1) == parts[1]
    assert space.heap[parts[1]] == 0
    for offset, size in zip(parts, (5000, 1, 1 << 33), strict=True):
        space.give_back(offset, size)
    assert space._gaps == whole
    with pytest.raises(MemoryError):
        space.allocate(SPACE_BYTES)


def test_parts_may_be_given_back_by_whoever_is_collected_meanwhile() -> None:
    space = TextSpace()
    whole = list(space._gaps)
    part = space.allocate(5000)

    class Interrupted(list[tuple[int, int]]):
        """Gaps, at the first look at which a destructor runs."""

        def __iter__(self) -> Iterator[tuple[int, int]]:
            space.give_back(part, 5000)
            return super().__iter__()

    space._gaps = Interrupted(space._gaps)
    other = space.allocate(9000)
    space._gaps = list(space._gaps)
    assert other != part
    space.give_back(other, 9000)
    assert space._gaps == whole


def test_room_of_whoever_is_gone_is_found_once_it_is_needed() -> None:
    """Those who refer to each other are gone once the collector has seen it."""
    space = made()

    class Holder:
        def __init__(self) -> None:
            self.size = (COPIES_FROM - SPACE_BYTES // 2) // 3
            self.part, self.itself = space.allocate(self.size), self

        def __del__(self) -> None:
            space.give_back(self.part, self.size)

    for _ in range(8):
        Holder()
    with raises(MemoryError, "no room", f"{SPACE_BYTES:,}"):
        space.allocate(SPACE_BYTES)


def test_where_addresses_are_few_there_is_none() -> None:
    pid = os.fork()
    if pid == 0:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, hard))  # one is there, another does not fit
        try:
            TextSpace()
        except OSError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_a_copy_lasts_as_long_as_an_array_refers_to_it() -> None:
    space = TextSpace()
    octets = np.frombuffer(b"as long as it is asked for", np.uint8)
    copy = space.copy_of(octets)
    offset = space.offset_of(copy.ctypes.data)
    assert copy.tobytes() == octets.tobytes() and offset >= space.common_bytes
    assert not copy[1:].flags.writeable
    part = copy[3:][1:7]
    del copy
    other = space.copy_of(octets)
    assert space.offset_of(other.ctypes.data) != offset and part.tobytes() == b"ong as"
    assert space.copies_gone[0] == 0
    del part
    assert space.copies_gone[0] == 1
    assert space.offset_of(space.copy_of(octets).ctypes.data) == offset


def test_copies_are_apart_from_all_else() -> None:
    space = TextSpace()
    whole = list(space._gaps)
    octets = np.frombuffer(b"text", np.uint8)
    copies, parts = [space.copy_of(octets) for _ in range(3)], [space.allocate(5000) for _ in range(3)]
    assert all(space.offset_of(copy.ctypes.data) >= COPIES_FROM for copy in copies)
    assert all(part < COPIES_FROM for part in parts)
    copies.clear()
    for part in parts:
        space.give_back(part, 5000)
    assert space._gaps == whole, "nor do gaps reach from one to the other"
