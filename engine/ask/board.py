"""The board: words that a launcher and its workers share, for what cannot wait for files to be written and found."""

import ctypes
import mmap

from tokenring.shm.memory import LINE_WORDS, peek, poke


class Board:
    """One for a group: made before its workers are, who have it from then on."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, 8 * LINE_WORDS * (workers + 1))
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def say(self, line: int, word: int, value: int) -> None:
        """Set a word in the line of the worker of that number, which nobody else does; in that of who asks, if it is
        the number of the workers."""
        poke(self._address + 8 * (LINE_WORDS * line + word), value)  # SYNC snapshot: release

    def said(self, line: int, word: int) -> int:
        """What was set; 0 at first. What had been said in that line before, is there."""
        return int(peek(self._address + 8 * (LINE_WORDS * line + word)))  # SYNC snapshot: acquire

    def all(self, word: int) -> list[int]:
        """What each worker says."""
        return [self.said(worker, word) for worker in range(self.workers)]
