"""The words of a set of different values, behind those of cells.py."""

from tokenring.operators.state import CELLS_META, NUMBERS_WORDS

CELLS, CELL_COUNT, SET_COLUMN, SET_FOLDS, VALUE_BASE, VALUE_BITS, LEAST_VALUE, GREATEST_VALUE, MISFIT, OWNERS, \
    OWNERS_LENGTH, PAIRS, FREE_OWNERS, OWNERS_ROOM, DEAD, OLD, SCAN, FIRST_PART, LAST_PART, IS_NUMBERED, VALUES, \
    SET_WORDS = (*range(CELLS_META, CELLS_META + 21), CELLS_META + 20 + NUMBERS_WORDS)  # fmt: skip
"""Of the words of cells.py, LIMIT and FREE are about owners, LIVE about pairs. The folds that count what is new for
each flag. What values are packed above, in how many bits; between what they were, ever; whether one did not fit. The
owner of each slot, plus one, 0 for none yet; how many pairs each owner has, GONE or LEAVING if it is none; the owners
to be used again; for how many there is room. Pairs of owners that are gone. Where the words are of the form that pairs
move from, 0 if they do not, the next place there, and of a dense one between which parts of each owner's places there
are any. Whether values are numbered, and where their keys are then."""
MOST_FLAGS = 8
"""Conditions that one set has: more are in another."""
GONE, LEAVING = -1, -2
"""In the place of an owner's number of pairs: its own are still in a form; in none but that which pairs move from."""
