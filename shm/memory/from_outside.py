"""Workers' lines of a segment, found in the memory of a process that is not ours."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tokenring.shm.memory import layout as words_of
from tokenring.shm.memory.layout import LINE_WORDS, WORD_BYTES, WORKER_PROCESS, Layout

Read = Callable[[int, int], bytes]
"""So many bytes at an address of the process."""


class Lines(NamedTuple):
    """What a segment says of its group."""

    layout: Layout
    group: np.ndarray
    """The lines before those of the workers: int64 (lines, LINE_WORDS)."""
    workers: np.ndarray
    """A line for each: int64 (workers, LINE_WORDS)."""


def line_in(read: Read, base: int, process: int) -> int:
    """The address of the line that the worker `process` has in the segment which it maps at `base`; 0 while it has
    none, and where another version made the segment."""
    lines = lines_in(read, base)
    if lines is None:
        return 0
    own = np.flatnonzero(lines.workers[:, WORKER_PROCESS] == process).tolist()
    return base + (lines.layout.worker(own[0])) * WORD_BYTES if own else 0


def lines_in(read: Read, base: int) -> Lines | None:
    """The lines of the segment that a process maps at `base`; None where another version made the segment, or the
    process has just ended."""
    header = np.frombuffer(read(base, LINE_WORDS * WORD_BYTES), np.int64).tolist()
    if len(header) < LINE_WORDS:
        return None
    if (header[words_of.HEADER_MAGIC], header[words_of.HEADER_VERSION]) != (words_of.MAGIC, words_of.VERSION):
        return None
    layout = Layout(*(header[word] for word in (words_of.HEADER_WORKERS, words_of.HEADER_RING, words_of.HEADER_QUEUE)))
    first = layout.worker(0) // LINE_WORDS
    size_bytes = (first + layout.workers) * LINE_WORDS * WORD_BYTES
    words = read(base, size_bytes)
    if len(words) < size_bytes:
        return None  # it has ended between the two reads
    lines = np.frombuffer(words, np.int64).reshape(-1, LINE_WORDS)
    return Lines(layout, lines[:first], lines[first:])
