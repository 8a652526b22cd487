"""Constants of text: a part of the text space that forked workers share, in which each text stands once.

Whoever first needs a text writes it, under a lock of the file that is mapped there; the system lets go of the lock if
the process dies. Layout: 8 bytes that say how many are taken; then texts, each behind 8 bytes with its length, and
filled up to words. The number of bytes taken is written last, so what a dead process left is written over.
"""

import fcntl
import os

import numpy as np

CONSTANT_BYTES = 1 << 20
_WORD = 8


class ConstantTexts:
    """The constants at the text space's start."""

    def __init__(self) -> None:
        """OSError where the system gives no file in memory."""
        self.file = os.memfd_create("text constants")
        """To be mapped, CONSTANT_BYTES of it; as many as are written to take memory."""
        os.ftruncate(self.file, CONSTANT_BYTES)
        self._octets: np.ndarray = np.empty(0, np.uint8)
        self._known: dict[bytes, int] = {}

    def are_at(self, octets: np.ndarray) -> None:
        """The file is mapped there: uint8 (CONSTANT_BYTES,), writable."""
        self._octets = octets

    def place(self, text: bytes) -> int:
        """The offset of a text from the file's start, the same in all processes that share it; -1 if there is no room.
        """
        found = self._known.get(text)
        if found is None:
            fcntl.lockf(self.file, fcntl.LOCK_EX)
            try:
                found = self._find_or_write(text)
            finally:
                fcntl.lockf(self.file, fcntl.LOCK_UN)
            if found >= 0:
                self._known[text] = found
        return found

    def _find_or_write(self, text: bytes) -> int:
        words = self._octets.view(np.int64)
        at, end = _WORD, max(int(words[0]), _WORD)
        while at < end:
            length = int(words[at // _WORD])
            if length == len(text) and self._octets[at + _WORD : at + _WORD + length].tobytes() == text:
                return at + _WORD
            at += _WORD + _whole_words(length)
        after = at + _WORD + _whole_words(len(text))
        if after > CONSTANT_BYTES:
            return -1
        words[at // _WORD] = len(text)
        self._octets[at + _WORD : at + _WORD + len(text)] = np.frombuffer(text, np.uint8)
        words[0] = after
        return at + _WORD

    def __del__(self) -> None:
        os.close(self.file)


def _whole_words(size: int) -> int:
    return -(-size // _WORD) * _WORD
