"""The machine's operations on text: kernels over one block of words into heaps."""

import numpy as np

from engine import LENGTH_BITS, LENGTH_MASK, bytes_at, kernel, text_equal, words_at


@kernel
def _same(text, start, part, length):  # type: ignore[no-untyped-def]
    for i in range(length):
        if text[start + i] != part[i]:
            return False
    return True


@kernel
def text_relation(relation, target, first, second, first_heap, second_heap, count):  # type: ignore[no-untyped-def]
    """1 where a text of `first` is equal to (relation 0), begins with (1), ends with (2) or contains (3) that of
    `second`, 0 elsewhere and where either is null.
    """
    t, a, b = words_at(target, count), words_at(first, count), words_at(second, count)
    for i in range(count):
        word, other = a[i], b[i]
        found = False
        if word >= 0 and other >= 0:
            length, wanted = word & LENGTH_MASK, other & LENGTH_MASK
            if relation == 0:
                found = text_equal(word, first_heap, other, second_heap)
            elif length >= wanted:
                text = bytes_at(first_heap + (word >> LENGTH_BITS), length)
                part = bytes_at(second_heap + (other >> LENGTH_BITS), wanted)
                if relation == 1:
                    found = _same(text, 0, part, wanted)
                elif relation == 2:
                    found = _same(text, length - wanted, part, wanted)
                else:
                    for start in range(length - wanted + 1):
                        if _same(text, start, part, wanted):
                            found = True
                            break
        t[i] = np.int64(found)


@kernel
def text_length(target, first, heap, is_text, count):  # type: ignore[no-untyped-def]
    """Characters of UTF-8 (bytes that continue none), or bytes if `is_text` is 0."""
    t, a = words_at(target, count), words_at(first, count)
    for i in range(count):
        word = a[i]
        length = word & LENGTH_MASK if word >= 0 else 0
        found = length
        if is_text != 0:
            text = bytes_at(heap + (word >> LENGTH_BITS), length)
            for j in range(length):
                if text[j] & 0xC0 == 0x80:
                    found -= 1
        t[i] = found
