"""One side of a join in compiled operators: where a `Side` has its tables, as words of an operator's state."""

import numpy as np

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import address_of, column_of, table_at, words_at
from tokenring.operators.joins.kept import EXPIRING, SIDE_META, TIME, Side, UniqueSide, time_at
from tokenring.operators.state import FREE, LIMIT, KeptTexts, bytes_to_keep, has_room_for_texts, keep_text, kept_texts

# HEADS, SLOTS: the heads, and how many, 0 of a `UniqueSide`. LINKS, PLACES, LINK_WORDS: the links, and their shape.
# STORED: the addresses of the columns that are kept; POSITIONS: where these are in messages; COLUMNS: how many. TEXTS:
# where KeptTexts has its words, 0 where no column is text; IS_TEXT: where each column has a word, 1 where it is.
HEADS, SLOTS, LINKS, PLACES, LINK_WORDS, FREE_LIST, META, HEAP, STORED, POSITIONS, COLUMNS, TEXTS, IS_TEXT = range(13)
SIDE_WORDS = 13


@kernel
def heads_of(own, at):  # type: ignore[no-untyped-def]
    """The place of each key's newest row; `at`: the first of the words that `link_side` wrote."""
    return words_at(own[at + HEADS], own[at + SLOTS])


@kernel
def links_of(own, at):  # type: ignore[no-untyped-def]
    """The rows' links; of a `UniqueSide` its rows."""
    return table_at(own[at + LINKS], own[at + PLACES], own[at + LINK_WORDS])


@kernel
def is_by_slot(own, at):  # type: ignore[no-untyped-def]
    """Whether a key's row is at the key's slot."""
    return own[at + SLOTS] == 0


@kernel
def here_of(own, at):  # type: ignore[no-untyped-def]
    """By slot, words of which the first is 0 where the key has no row."""
    return links_of(own, at) if is_by_slot(own, at) else table_at(own[at + HEADS], own[at + SLOTS], 1)


@kernel
def message_time(own, at, place):  # type: ignore[no-untyped-def]
    """The time of the message that brought a row."""
    return time_at(links_of(own, at), place) if is_by_slot(own, at) else links_of(own, at)[place, TIME]


@kernel
def free_of(own, at):  # type: ignore[no-untyped-def]
    """Places to be used again."""
    return words_at(own[at + FREE_LIST], own[at + PLACES])


@kernel
def meta_of(own, at):  # type: ignore[no-untyped-def]
    """The counts of rows."""
    return words_at(own[at + META], SIDE_META)


@kernel
def heap_of(own, at):  # type: ignore[no-untyped-def]
    """Rows that expire, by when."""
    return table_at(own[at + HEAP], own[at + PLACES], 2)


@kernel
def rows_kept(own, at):  # type: ignore[no-untyped-def]
    """How many rows there are."""
    meta = meta_of(own, at)
    return meta[LIMIT] - meta[FREE]


@kernel
def has_room(world, own, at, message, rows):  # type: ignore[no-untyped-def]
    """Whether there are places for so many rows of a message more, and room for its texts."""
    if not is_by_slot(own, at) and rows_kept(own, at) + rows > own[at + PLACES]:
        return False
    if own[at + TEXTS] == 0 or rows == 0:
        return True
    texts, needed = kept_texts(own[at + TEXTS]), 0
    positions = words_at(own[at + POSITIONS], own[at + COLUMNS])
    is_text = words_at(own[at + IS_TEXT], own[at + COLUMNS])
    for column in range(len(positions)):
        if is_text[column] != 0:
            needed += bytes_to_keep(texts, column_of(message, positions[column]))
    return has_room_for_texts(world, texts, needed)


@kernel
def least_due(own, at):  # type: ignore[no-untyped-def]
    """When the first row goes, of those that expire; COMPLETE if there is none."""
    return heap_of(own, at)[0, 0] if meta_of(own, at)[EXPIRING] > 0 else COMPLETE


@kernel
def kept_column(own, at, column):  # type: ignore[no-untyped-def]
    """The words of one column that is kept, by place."""
    return words_at(words_at(own[at + STORED], own[at + COLUMNS])[column], own[at + PLACES])


@kernel
def keep_rows(own, at, message, rows, places):  # type: ignore[no-untyped-def]
    """Keep rows of a message at their places; its first ones if `rows` has no length."""
    positions = words_at(own[at + POSITIONS], own[at + COLUMNS])
    for column in range(len(positions)):
        words, stored = column_of(message, positions[column]), kept_column(own, at, column)
        if own[at + TEXTS] != 0 and words_at(own[at + IS_TEXT], own[at + COLUMNS])[column] != 0:
            texts = kept_texts(own[at + TEXTS])
            for i in range(len(places)):
                stored[places[i]] = keep_text(texts, words[rows[i] if len(rows) > 0 else i])
        else:
            for i in range(len(places)):
                stored[places[i]] = words[rows[i] if len(rows) > 0 else i]


class LinkedSide:
    """A side, and the words that say where it is. positions, int64: of the columns that are kept in messages."""

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

    def link(self, words: np.ndarray, at: int) -> None:
        """Write down where the tables are now, in SIDE_WORDS words from `at` on. To be repeated when they have grown.
        """
        heads, links, free, meta, heap = self.side.tables
        if self.side.store is not None:
            columns = self.side.store.reserve(len(links))
            self._stored[:] = [address_of(column) for column in columns]
            if self._texts is not None and self._texts.lacks_room:
                used = int(meta[LIMIT])
                self._texts.make_room([columns[at][:used] for at in np.flatnonzero(self._is_text)])
        words[at : at + SIDE_WORDS] = (
            *(address_of(heads), len(heads), address_of(links), *links.shape, address_of(free), address_of(meta)),
            *(address_of(heap), address_of(self._stored), address_of(self._positions), len(self._positions)),
            *(0 if self._texts is None else address_of(self._texts.words), address_of(self._is_text)),
        )
