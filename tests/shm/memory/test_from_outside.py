"""A worker's line, found by its process's number in memory that is read piece by piece."""

from __future__ import annotations

import ctypes

from tokenring.shm.memory import WORKER_PROCESS, Layout, Segment, line_in, lines_in
from tokenring.shm.memory.layout import HEADER_VERSION, LINE_WORDS, WORD_BYTES


def test_the_line_of_a_worker_is_found_once_it_has_said_who_it_is() -> None:
    layout = Layout(3, 64, 256)
    segment = Segment.private(layout)
    base = segment.address(0)

    def read(address: int, count: int) -> bytes:
        assert base <= address <= address + count <= base + layout.total_bytes
        return ctypes.string_at(address, count)

    assert line_in(read, base, 4242) == 0
    segment.words[layout.worker(2) + WORKER_PROCESS] = 4242
    assert line_in(read, base, 4242) == segment.address(layout.worker(2))
    assert line_in(read, base, 4243) == 0
    segment.words[HEADER_VERSION] += 1
    assert line_in(read, base, 4242) == 0
    segment.close()


def test_a_process_that_has_just_ended_has_no_lines() -> None:
    """Its memory, opened before, reads as nothing."""
    assert lines_in(lambda address, count: b"", 4096) is None


def test_a_process_that_ends_while_it_is_read_has_no_lines() -> None:
    """Its header was there; all that comes after is nothing, or less than all."""
    segment = Segment.private(Layout(2, 64, 256))
    base = segment.address(0)
    header = ctypes.string_at(base, LINE_WORDS * WORD_BYTES)
    for rest in (b"", header, header * 2 + b"1"):
        reads = iter([header, rest])
        assert lines_in(lambda address, count, reads=reads: next(reads), base) is None  # type: ignore[misc]
    segment.close()
