"""A set of different values, as a record behind what is counted of its cells."""

from tokenring.engine.compiled import Record
from tokenring.operators.state import CellCounts, FreeList, KeyMap


class ValueSet(CellCounts):
    """`limit` and `free` are about owners, `live` about pairs. `column`: where the values are in messages; `folds`:
    which count what is new for each flag. `value_base`, `value_bits`: what values are packed above, in how many bits;
    `least_value`, `greatest_value`: between what they were, ever; `misfit`: whether one did not fit. `owners`: the
    owner of each slot, plus one, 0 for none yet; `pairs`: how many each owner has, GONE or LEAVING if it is none;
    `free_owners`: those to be used again; `owners_room`: for how many there is room. `dead`: pairs of owners that are
    gone. `old`: where the set is whose form pairs move from, 0 if they do not; `scan`: the next place there, and of a
    dense one between which parts of each owner's places there are any. `values`: where the keys of values are that are
    numbered. `what`: what stands for values, as of a key's columns (`word_column`). `links`: where slots can be merged,
    a Link for each value that was new, 0 elsewhere; `heads`: by slot the last one, plus one; `free_links`, `linked`:
    those to be used again, and how many there are; `links_room`: for how many there is room."""

    cells: int
    cell_count: int
    column: int
    folds: int
    value_base: int
    value_bits: int
    least_value: int
    greatest_value: int
    misfit: int
    owners: int
    owners_length: int
    pairs: int
    free_owners: int
    owners_room: int
    dead: int
    old: int
    scan: int
    first_part: int
    last_part: int
    is_numbered: int
    values: KeyMap
    what: int
    links: int
    heads: int
    free_links: int
    linked: FreeList
    links_room: int


class Link(Record):
    """A value that was new to a slot, for which flags, and the link before it, plus one, 0 for none."""

    value: int
    flags: int
    before: int


MOST_FLAGS = 8
"""Conditions that one set has: more are in another."""
GONE, LEAVING = -1, -2
"""In the place of an owner's number of pairs: its own are still in a form; in none but that which pairs move from."""
