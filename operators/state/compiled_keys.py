"""Keys of one word in compiled operators: where a `Keys` has its tables, as a record."""

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, address_of, words_at
from tokenring.operators.state.keys import Keys
from tokenring.operators.state.keys_kernels import KeyCounts

_COUNTS_WORDS = KeyCounts.size


class WordKeys(Record):
    """Where the tables of a `Keys` of one column that is no text are, and how long."""

    cells: int
    cell_count: int
    tags: int
    capacity: int
    counts: int


@kernel
def cells_of(keys: WordKeys) -> Words:
    """What `slot_of` takes first."""
    return words_at(keys.cells, keys.cell_count)


@kernel
def tags_of(keys: WordKeys) -> Words:
    """What `slot_of` takes second: the keys by slot."""
    return words_at(keys.tags, keys.capacity)


@kernel
def counts_of(keys: WordKeys) -> Words:
    """The words of KeyCounts, which `slot_of` takes third."""
    return words_at(keys.counts, _COUNTS_WORDS)


def link_keys(record: WordKeys, keys: Keys) -> None:
    """Write down where the tables of `keys`, of one column that is no text, are now. To be repeated when they have
    grown."""
    cells, tags, meta = keys.table
    record.words[:] = address_of(cells), len(cells), address_of(tags), len(tags), address_of(meta)
