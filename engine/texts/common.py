"""Texts in the common part of the text space: all workers have them, so their words go everywhere without bytes."""

import numpy as np

from tokenring.engine.columns import Batch, heap_address, let_last, shift_below
from tokenring.shm.kernels import LENGTH_BITS
from tokenring.shm.memory import text_space


def as_common(batch: Batch) -> Batch | None:
    """The batch with words of text that count from the text space's start, if all are in its common part."""
    space = text_space() if batch.heaps else None
    if space is None or space.common_bytes == 0:
        return None
    columns: list[np.ndarray] = []
    for words, heap in zip(batch.columns, batch.heaps, strict=True):
        if heap is not None:
            offset = space.offset_of(heap_address(heap))
            if offset < 0:
                return None
            shifted = np.empty(len(words), np.int64)
            if not shift_below(words, offset << LENGTH_BITS, space.common_words, shifted):
                return None
            words = shifted
        columns.append(words)
    heaps = tuple([None if heap is None else space.heap for heap in batch.heaps])
    return Batch.wrap(batch.schema, tuple(columns), batch.rows, heaps, batch)


def can_have_texts() -> bool:
    """Whether texts may be where compiled operators see them: not where the system lets so many addresses not be
    reserved."""
    return text_space() is not None


def constant_text(text: bytes) -> int:
    """The word of a constant text in the text space, of which there must be one (`can_have_texts`); it stays for as
    long as the process lives."""
    space = text_space()
    assert space is not None, "without one, no operator that is compiled has text"
    return space.constant(text)


def first_private_word() -> int:
    """Words that are less, null among them, mean the same texts in all workers, for as long as the process lives."""
    space = text_space()
    return 0 if space is None else space.common_words


def heap_of_words() -> np.ndarray:
    """What words point into that came without bytes: uint8 (bytes,); none are there to point to where it is empty."""
    space = text_space()
    return _NO_BYTES if space is None else space.heap


def in_text_space(octets: np.ndarray) -> np.ndarray:
    """The same bytes, read-only, where compiled operators see them: texts among them need not be brought there, message
    by message. As they are, read-only from now on, where there is no text space."""
    space = text_space()
    if space is not None and octets.nbytes:
        return space.copy_of(octets)
    octets.flags.writeable = False
    return octets


def _lasts(words: np.ndarray, heap: np.ndarray) -> bool:
    space = text_space()
    return space is not None and space.lasts(words, heap)


_NO_BYTES = np.empty(0, np.uint8)
let_last(_lasts)  # columns know no machine, and so no addresses of it
