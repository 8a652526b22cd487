"""Floats as words that are equal where the values are: one zero, one NaN."""

from tokenring.engine import COLUMN, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words, signed
from tokenring.operators.state.arithmetic import LEAST, MOST

NAN = 0xFFF << 51
"""The word of the NaN that stands for all of them."""
_INFINITY = 0x7FF << 52


@kernel
def is_nan(word: int) -> bool:
    """Whether the bits of a float are a NaN's, or the null's."""
    return (word & MOST) > _INFINITY


@kernel
def canonical_float(word: int, null: int) -> int:
    """A float's word: 0.0's for both zeros, NAN for each NaN but the null. null: its word; NAN where none is."""
    if word == LEAST:  # -0.0
        return signed(0)
    return signed(NAN) if is_nan(word) and word != null else word


@kernel(void(COLUMN, int64, WORDS))
def canonical_floats(column: Words, null: int, words: Words) -> None:
    """Write the words of floats."""
    for i in range(len(column)):
        words[i] = canonical_float(column[i], null)
