"""A worker's line of a segment, found in the memory of a process that is not ours."""

from collections.abc import Callable

import numpy as np

from tokenring.shm.memory import layout as words_of
from tokenring.shm.memory.layout import LINE_WORDS, WORD_BYTES, WORKER_PROCESS, Layout


def line_in(read: Callable[[int, int], bytes], base: int, process: int) -> int:
    """The address of the line that the worker `process` has in the segment which it maps at `base`; 0 while it has
    none, and where another version made the segment. read: so many bytes at an address of that process."""
    header = np.frombuffer(read(base, LINE_WORDS * WORD_BYTES), np.int64).tolist()
    if (header[words_of.HEADER_MAGIC], header[words_of.HEADER_VERSION]) != (words_of.MAGIC, words_of.VERSION):
        return 0
    layout = Layout(*(header[word] for word in (words_of.HEADER_WORKERS, words_of.HEADER_RING, words_of.HEADER_QUEUE)))
    first = base + layout.worker(0) * WORD_BYTES
    lines = np.frombuffer(read(first, layout.workers * LINE_WORDS * WORD_BYTES), np.int64).reshape(-1, LINE_WORDS)
    own = np.flatnonzero(lines[:, WORKER_PROCESS] == process).tolist()
    return first + own[0] * LINE_WORDS * WORD_BYTES if own else 0
