"""What a word of text is: offset << LENGTH_BITS | length, into a heap of bytes; negative where there is none."""

from tokenring.shm.kernels.kernel import bytes_at, kernel

LENGTH_BITS = 24
LENGTH_MASK = (1 << LENGTH_BITS) - 1
"""The longest text, in bytes."""


@kernel
def copy_text(word, heap, target, at):  # type: ignore[no-untyped-def]
    """Copy a text that is not null from the heap at address `heap` to byte `at` of the one at `target`; returns its
    word there."""
    length = word & LENGTH_MASK
    source, copy = bytes_at(heap + (word >> LENGTH_BITS), length), bytes_at(target + at, length)
    for i in range(length):
        copy[i] = source[i]
    return at << LENGTH_BITS | length
