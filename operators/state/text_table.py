"""Texts by number, each once, found by their bytes: what stands for a text in keys, in sets, and in collections.

Numbers are slots of cells (cells/), whose tags are the texts' hashes; bytes decide. Of a word that came lately it is
known which text it is: where its bytes stay, in one column, and of a copy's until some copy is gone. Texts lie far
apart in memory: of some at a time, what is to be looked at is asked for first, which is cells, then words, then bytes.
"""

import numpy as np

from tokenring.engine import COLUMN, WORDS, boolean, int64, kernel, text_equal, text_hash, void
from tokenring.engine.columns import text_bytes
from tokenring.engine.compiled import Record, Words, address_of, record_at, record_of, records_at, signed, unsigned
from tokenring.engine.raw import COPIES_FROM, LENGTH_BITS, LENGTH_MASK, copy_text, prefetch, text_space, words_at
from tokenring.operators.state.cells import (
    AHEAD,
    FULL,
    FULL_OF,
    MARK,
    MOST_SLOTS,
    SLOT,
    CellCounts,
    begin_settling,
    drop_slot,
    first_homes,
    home_of,
    mark_of,
    new_slot,
    settle_all,
)
from tokenring.operators.state.kept_texts import TextStore, has_room_for
from tokenring.operators.state.tables import FIRST_SLOTS, grown, shared_scratch

NULL, UNKNOWN = -1, -3
"""The number of null, and of a text that has none."""
_FIRST_CELLS = 2 * FIRST_SLOTS
_SMALL_CELLS = 1 << 15  # so many, and what they lead to, stay in a core's cache
_MOST_LATELY = 1 << 16  # words: more than a dictionary of Parquet has, most often
_WATCHED = 256  # rows, of which one has a word that came lately, or no other is looked at for that
_READ_AHEAD = 16  # rows whose texts are asked for while others are read
_SPACE_BYTES = 1 << 63 - LENGTH_BITS
_NO_WORD = -(2**63)
_FIRST_COPY = COPIES_FROM << LENGTH_BITS
_NEVER = 1 << 62


class TextTable(Record):
    """`counts`: of cells. `texts`: the address of the TextStore; what it keeps from the offset `lasting` on stays there
    for ever. `cells`, `cell_count`. `stored`, `hashes`: by number the text's word and its hash; `unused`: numbers that
    are to be used again; `capacity`: how long these are. `lately`: a LateWord for each of some words, `lately_count` of
    them, a power of two. `in_words`: whether the word of the text that is kept stands for a text, not its number.
    `columns`: how many there were. `copies_gone`: the address of TextSpace's. `given`, `given_bytes`: how many numbers
    the last column got that are new, and the bytes of their texts. `scratch`: two times AHEAD words."""

    counts: CellCounts
    texts: int
    lasting: int
    cells: int
    cell_count: int
    stored: int
    hashes: int
    unused: int
    capacity: int
    lately: int
    lately_count: int
    in_words: int
    columns: int
    copies_gone: int
    given: int
    given_bytes: int
    scratch: int


class LateWord(Record):
    """A word that came lately, as it counts from the start of the text space, or, less than 0, as it was; what stands
    for it, and in which column that was, or, of a word of a copy, ~how many copies were gone then."""

    word: int
    made: int
    column: int


@kernel
def store_of(table: TextTable) -> TextStore:
    """Where the texts are kept."""
    return record_at(table.texts, TextStore)


@kernel
def _from_start(word: int, heap: int, base: int) -> int:
    """A word as it counts from the start of the text space; less than 0, and another for each, where its heap is not
    in there."""
    beyond = heap - base
    return word + (beyond << LENGTH_BITS) if 0 <= beyond < _SPACE_BYTES else ~word


@kernel
def _late_place(known: int, count: int) -> int:
    """Where a word is among so many that came lately."""
    return unsigned((known >> LENGTH_BITS) ^ (known >> (LENGTH_BITS + 9))) & unsigned(count - 1)


@kernel
def _enter(table: TextTable, at: int, word: int, heap: int) -> int:
    """A number for a text whose probe ended at the cell `at`; -1 if there is no room for it."""
    store = store_of(table)
    known = _from_start(word, heap, store.base)
    is_common = 0 <= known < store.common
    size_bytes = 0 if is_common else word & LENGTH_MASK
    if not has_room_for(store, size_bytes):
        return -1
    hashes, unused = words_at(table.hashes, table.capacity), words_at(table.unused, table.capacity)
    cells, hashed = words_at(table.cells, table.cell_count), text_hash(word, heap)
    number = new_slot(cells, hashes, unused, table.counts, hashed, at)
    if number >= 0:
        made = known if is_common else copy_text(word, heap, store.base, store.at)
        words_at(table.stored, table.capacity)[number] = made
        store.at += size_bytes
        table.given += 1
        table.given_bytes += size_bytes
    return number


@kernel
def _ask_for_texts(cells: Words, stored: Words, counts: CellCounts, marks: Words, base: int) -> None:
    """Have what texts of these marks are compared with on its way from memory."""
    at = cells.ctypes.data
    for mark in marks:
        prefetch(at + 8 * home_of(mark, cells, counts))
    at = stored.ctypes.data
    for mark in marks:
        prefetch(at + 8 * (max(cells[home_of(mark, cells, counts)] & SLOT, 1) - 1))
    for mark in marks:
        number = max(cells[home_of(mark, cells, counts)] & SLOT, 1) - 1
        prefetch(base + (stored[number] >> LENGTH_BITS))


@kernel
def _known_lately(
    table: TextTable, column: Words, heap: int, null: int, row: int, watches: bool, target: Words
) -> tuple[int, int]:
    """Write what stands for nulls and, where it `watches`, for words that came lately, from a row on, until so many
    others wait as are looked at together, in `scratch`. Returns (the row behind, how many wait)."""
    store = store_of(table)
    base, common, lasting, end = store.base, store.common, table.lasting, store.at
    lately = records_at(table.lately, table.lately_count, LateWord)
    now, gone = table.columns, ~words_at(table.copies_gone, 1)[0]
    rows, marks = words_at(table.scratch, AHEAD), words_at(table.scratch + 8 * AHEAD, AHEAD)
    last, waiting = len(column) - 1, 0
    while row <= last and waiting < AHEAD:
        prefetch(heap + (column[min(row + _READ_AHEAD, last)] >> LENGTH_BITS))
        word = column[row]
        if word < 0:
            target[row] = null
        else:
            known = _from_start(word, heap, base)
            one = lately[_late_place(known, len(lately))]
            if watches and one.word == known and (
                0 <= known < common
                or lasting <= known >> LENGTH_BITS < end
                or one.column == (gone if known >= _FIRST_COPY else now)
            ):
                target[row] = one.made
            else:
                rows[waiting], marks[waiting] = row, mark_of(text_hash(word, heap))
                waiting += 1
        row += 1
    return row, waiting


@kernel
def _number_waiting(
    table: TextTable, column: Words, heap: int, add: bool, watches: bool, waiting: int, target: Words
) -> bool:
    """Write what stands for the words that wait; False if there was no room."""
    store = store_of(table)
    cells, stored = words_at(table.cells, table.cell_count), words_at(table.stored, table.capacity)
    base, mask = store.base, len(cells) - 1
    lately = records_at(table.lately, table.lately_count, LateWord)
    now, gone = table.columns, ~words_at(table.copies_gone, 1)[0]
    rows, marks = words_at(table.scratch, waiting), words_at(table.scratch + 8 * AHEAD, waiting)
    if len(cells) > _SMALL_CELLS:
        _ask_for_texts(cells, stored, table.counts, marks, base)
    half, split = first_homes(cells, table.counts)
    for i in range(waiting):
        word, mark = column[rows[i]], marks[i]
        at = mark & half
        at = at if at >= split else mark & mask
        made = signed(UNKNOWN)
        while cells[at] != 0:
            if signed(unsigned(cells[at]) >> MARK) == mark:
                number = (cells[at] & SLOT) - 1
                if text_equal(stored[number], base, word, heap):
                    made = number
                    break
            at = (at + 1) & mask
        if made < 0 and add:
            made = _enter(table, at, word, heap)
            if made < 0:
                if store.wanted > 0:  # so that what follows has room as well
                    store.wanted = text_bytes(column[rows[i] :])
                return False
            half, split = first_homes(cells, table.counts)
        if made >= 0:
            made = stored[made] if table.in_words != 0 else made
            if watches:
                known = _from_start(word, heap, base)
                one = lately[_late_place(known, len(lately))]
                one.word, one.made, one.column = known, made, gone if known >= _FIRST_COPY else now
        target[rows[i]] = made
    return True


@kernel
def number_texts(table: TextTable, column: Words, heap: int, null: int, add: bool, target: Words) -> bool:
    """Write what stands for each text of a column. False if there was no room for one that is new. heap: the address
    from which words count; null: what stands for that; add: whether new texts get numbers, or are UNKNOWN."""
    table.given = table.given_bytes = 0
    table.columns += 1
    row, waited, watches = 0, 0, True
    while row < len(column):
        row, waiting = _known_lately(table, column, heap, null, row, watches, target)
        if not _number_waiting(table, column, heap, add, watches, waiting, target):
            return False
        waited += waiting
        watches = waited < row or row < _WATCHED  # a column's words come again and again, or never
    return True


@kernel(boolean(WORDS, COLUMN, int64, int64, boolean, WORDS))
def _number_column(words: Words, column: Words, heap: int, null: int, add: bool, target: Words) -> bool:
    return number_texts(record_of(words, TextTable), column, heap, null, add, target)


@kernel(void(WORDS, COLUMN))
def _forget(words: Words, numbers: Words) -> None:
    table = record_of(words, TextTable)
    cells, stored = words_at(table.cells, table.cell_count), words_at(table.stored, table.capacity)
    hashes, unused = words_at(table.hashes, table.capacity), words_at(table.unused, table.capacity)
    for each in range(len(numbers) - 1, -1, -1):  # so that the least are used again first
        drop_slot(cells, hashes, unused, table.counts, numbers[each])
        stored[numbers[each]] = NULL


_NONE_GONE = np.zeros(1, np.int64)


def _copies_gone() -> int:
    """The address of the count of copies that are gone."""
    space = text_space()
    return address_of(_NONE_GONE if space is None else space.copies_gone)


class NumberedTexts:
    """The texts that came, by number. Memory: 36 to 72 bytes each, and their bytes where a store keeps them; and
    24 to 48 for each of the first 64 Ki, of which their words are known."""

    def __init__(self, store: TextStore, lasting: int = _NEVER, in_words: bool = False) -> None:
        """store: where texts are kept; lasting: from which offset on they stay there; in_words: see TextTable."""
        self._stored, self._hashes, self._unused = (np.zeros(0, np.int64) for _ in range(3))
        self._cells = np.zeros(_FIRST_CELLS, np.int64)
        self.table = TextTable()
        """As kernels see them."""
        self.table.texts, self.table.lasting, self.table.in_words = store.address, lasting, in_words
        self.table.copies_gone = _copies_gone()
        self.table.scratch = address_of(shared_scratch(__name__, 2, AHEAD))
        self._have_places(FIRST_SLOTS)

    @property
    def texts(self) -> int:
        """How many there are."""
        return int(self.table.counts.live)

    @property
    def places(self) -> int:
        """How many texts more can get a number."""
        counts = self.table.counts
        return int(counts.free + len(self._stored) - counts.limit)

    @property
    def has_room(self) -> bool:
        """Whether another one can, but for its bytes."""
        return self.places > 0 and FULL_OF * self.texts < FULL * len(self._cells)

    @property
    def kept(self) -> np.ndarray:
        """The texts' words, by number; NULL where there is none."""
        return self._stored[: self.table.counts.limit]

    @property
    def table_bytes(self) -> int:
        """What they take, without their bytes."""
        return int(sum([each.nbytes for each in (self._cells, self._stored, self._hashes, self._unused)]))

    def make_places(self, more: int) -> None:
        """Have places for so many more: twice as many as there are, at least, if they are too few. MemoryError for more
        than cells can tell apart."""
        if self.places < more:
            length = len(self._stored) + more - self.places
            if length > MOST_SLOTS:
                raise MemoryError(f"more than {MOST_SLOTS} texts in one worker; have more workers")
            self._have_places(length)
        self._have_cells(self.texts + more)

    def number(self, words: np.ndarray, heap: int, add: bool = True) -> np.ndarray | None:
        """See `number_texts`; None if there was no room."""
        made = np.empty(len(words), np.int64)
        return made if _number_column(self.table.words, words, heap, NULL, add, made) else None

    def words_of(self, numbers: np.ndarray) -> np.ndarray:
        """The words of texts, int64 (n,), by number; NULL where that is."""
        return np.where(numbers < 0, NULL, self._stored[np.maximum(numbers, 0)])

    def forget(self, numbers: np.ndarray) -> None:
        """Texts have no number any more, each named once."""
        _forget(self.table.words, numbers)
        self._lately[:] = _NO_WORD

    def _have_places(self, length: int) -> None:
        self._stored, self._hashes, self._unused = (
            grown(each, length, None) for each in (self._stored, self._hashes, self._unused)
        )
        its = self.table
        its.stored, its.hashes, its.unused = (address_of(each) for each in (self._stored, self._hashes, self._unused))
        its.capacity = len(self._stored)
        self._have_cells(0)

    def _have_cells(self, texts: int) -> None:
        its = self.table
        while FULL_OF * texts >= FULL * len(self._cells):
            settle_all(self._cells, its.words)
            self._cells = grown(self._cells, len(self._cells) + 1)
            begin_settling(self._cells, its.words)
        its.cells, its.cell_count = address_of(self._cells), len(self._cells)
        lately = min(len(self._cells), _MOST_LATELY)
        if its.lately_count < lately:
            self._lately = np.full((lately, LateWord.size), _NO_WORD, np.int64)
            its.lately, its.lately_count = address_of(self._lately), lately
