"""Keys of one word in compiled operators: where a `Keys` has its tables, as words of an operator's state."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import address_of, words_at
from tokenring.operators.state.keys import Keys
from tokenring.operators.state.keys_kernels import META_WORDS

CELLS, CELL_COUNT, TAGS, CAPACITY, META = range(5)
KEYS_WORDS = 5


@kernel
def cells_of(own, at):  # type: ignore[no-untyped-def]
    """What `slot_of` takes first; `at`: the first of the words that `link_keys` wrote."""
    return words_at(own[at + CELLS], own[at + CELL_COUNT])


@kernel
def tags_of(own, at):  # type: ignore[no-untyped-def]
    """What `slot_of` takes second: the keys by slot."""
    return words_at(own[at + TAGS], own[at + CAPACITY])


@kernel
def counts_of(own, at):  # type: ignore[no-untyped-def]
    """What `slot_of` takes third."""
    return words_at(own[at + META], META_WORDS)


def link_keys(words: np.ndarray, at: int, keys: Keys) -> None:
    """Write down where the tables of `keys`, of one column that is no text, are now, in KEYS_WORDS words from `at` on.
    To be repeated when they have grown."""
    cells, tags, meta = keys.table
    words[at : at + KEYS_WORDS] = address_of(cells), len(cells), address_of(tags), len(tags), address_of(meta)
