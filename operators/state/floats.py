"""Floats as words that are equal where the values are: one zero, one NaN."""

from tokenring.engine import COLUMN, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words
from tokenring.operators.state.arithmetic import MOST

NAN = 0xFFF << 51
"""The word of the NaN that stands for all of them."""
_INFINITY = 0x7FF << 52


@kernel(void(COLUMN, int64, WORDS))
def canonical_floats(column: Words, null: int, words: Words) -> None:
    """Write floats' words: 0.0's for both zeros, NAN for each NaN but the null. null: its word; NAN where none is."""
    for i in range(len(column)):
        word = column[i]
        magnitude = word & MOST
        if magnitude == 0:
            word = magnitude
        elif magnitude > _INFINITY and word != null:
            word = NAN
        words[i] = word
