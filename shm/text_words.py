"""What a word of text is: offset << LENGTH_BITS | length, into a heap of bytes; negative where there is none."""

LENGTH_BITS = 24
LENGTH_MASK = (1 << LENGTH_BITS) - 1
"""The longest text, in bytes."""
