"""One side of a join in compiled operators: where a `Side` has its tables, as a record."""

import numpy as np

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import Record, Words, address_of, column_of, record_at, table_at, words_at
from tokenring.operators.joins.kept import Side, SideCounts, UniqueSide, link_at, time_at
from tokenring.operators.state import KeptTexts, TextStore, bytes_to_keep, has_room_for_texts, keep_text

_COUNTS_WORDS = SideCounts.size


class KeptRows(Record):
    """Where a `Side` has its tables. `heads`: the heads, `slots` of them, 0 of a `UniqueSide`. `links`: `places` of
    `link_words` each. `stored`: the addresses of the columns that are kept; `positions`: where these are in messages;
    `columns`: how many. `texts`: the address of a TextStore, 0 where no column is text; `is_text`: where each column
    has a word, 1 where it is."""

    heads: int
    slots: int
    links: int
    places: int
    link_words: int
    free: int
    meta: int
    heap: int
    stored: int
    positions: int
    columns: int
    texts: int
    is_text: int


@kernel
def heads_of(kept: KeptRows) -> Words:
    """The place of each key's newest row."""
    return words_at(kept.heads, kept.slots)


@kernel
def links_of(kept: KeptRows) -> Words:
    """The rows' links; of a `UniqueSide` its rows."""
    return table_at(kept.links, kept.places, kept.link_words)


@kernel
def is_by_slot(kept: KeptRows) -> bool:
    """Whether a key's row is at the key's slot."""
    return kept.slots == 0


@kernel
def here_of(kept: KeptRows) -> Words:
    """By slot, words of which the first is 0 where the key has no row."""
    return links_of(kept) if is_by_slot(kept) else table_at(kept.heads, kept.slots, 1)


@kernel
def message_time(kept: KeptRows, place: int) -> int:
    """The time of the message that brought a row."""
    return time_at(links_of(kept), place) if is_by_slot(kept) else link_at(links_of(kept), place).time


@kernel
def free_of(kept: KeptRows) -> Words:
    """Places to be used again."""
    return words_at(kept.free, kept.places)


@kernel
def meta_of(kept: KeptRows) -> Words:
    """The words of SideCounts."""
    return words_at(kept.meta, _COUNTS_WORDS)


@kernel
def side_counts(kept: KeptRows) -> SideCounts:
    """The counts of rows."""
    return record_at(kept.meta, SideCounts)


@kernel
def heap_of(kept: KeptRows) -> Words:
    """Rows that expire, by when."""
    return table_at(kept.heap, kept.places, 2)


@kernel
def rows_kept(kept: KeptRows) -> int:
    """How many rows there are."""
    counts = side_counts(kept)
    return counts.limit - counts.free


@kernel
def has_room(world: int, kept: KeptRows, message: int, rows: int) -> bool:
    """Whether there are places for so many rows of a message more, and room for its texts."""
    if not is_by_slot(kept) and rows_kept(kept) + rows > kept.places:
        return False
    if kept.texts == 0 or rows == 0:
        return True
    texts, needed = record_at(kept.texts, TextStore), 0
    positions = words_at(kept.positions, kept.columns)
    is_text = words_at(kept.is_text, kept.columns)
    for column in range(len(positions)):
        if is_text[column] != 0:
            needed += bytes_to_keep(texts, column_of(message, positions[column]))
    return has_room_for_texts(world, texts, needed)


@kernel
def least_due(kept: KeptRows) -> int:
    """When the first row goes, of those that expire; COMPLETE if there is none."""
    return heap_of(kept)[0, 0] if side_counts(kept).expiring > 0 else COMPLETE


@kernel
def kept_column(kept: KeptRows, column: int) -> Words:
    """The words of one column that is kept, by place."""
    return words_at(words_at(kept.stored, kept.columns)[column], kept.places)


@kernel
def keep_rows(kept: KeptRows, message: int, rows: Words, places: Words) -> None:
    """Keep rows of a message at their places; its first ones if `rows` has no length."""
    positions = words_at(kept.positions, kept.columns)
    for column in range(len(positions)):
        words, stored = column_of(message, positions[column]), kept_column(kept, column)
        if kept.texts != 0 and words_at(kept.is_text, kept.columns)[column] != 0:
            texts = record_at(kept.texts, TextStore)
            for i in range(len(places)):
                stored[places[i]] = keep_text(texts, words[rows[i] if len(rows) > 0 else i])
        else:
            for i in range(len(places)):
                stored[places[i]] = words[rows[i] if len(rows) > 0 else i]


class LinkedSide:
    """A side, and what says where it is. positions, int64: of the columns that are kept in messages."""

    def __init__(self, side: Side | UniqueSide, positions: np.ndarray) -> None:
        self.side = side
        self._positions = np.array(positions, np.int64)
        self._stored = np.zeros(len(positions), np.int64)
        kinds = () if side.store is None else side.store.schema.kinds
        self._is_text = np.array([kind.is_text for kind in kinds], np.int64)
        self._texts = KeptTexts() if self._is_text.any() else None

    @property
    def texts(self) -> KeptTexts | None:
        """Where texts are kept; None where no column is text."""
        return self._texts

    def link(self, kept: KeptRows) -> None:
        """Write down where the tables are now. To be repeated when they have grown."""
        heads, links, free, meta, heap = self.side.tables
        if self.side.store is not None:
            columns = self.side.store.reserve(len(links))
            self._stored[:] = [address_of(column) for column in columns]
            if self._texts is not None and self._texts.lacks_room:
                used = SideCounts(meta).limit
                self._texts.make_room([columns[at][:used] for at in np.flatnonzero(self._is_text)])
        kept.words[:] = (
            *(address_of(heads), len(heads), address_of(links), *links.shape, address_of(free), address_of(meta)),
            *(address_of(heap), address_of(self._stored), address_of(self._positions), len(self._positions)),
            *(0 if self._texts is None else self._texts.store.address, address_of(self._is_text)),
        )
