"""The best rows of each key in the worker's inner loop: what changes in them, in blocks that hold the rows as well."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Batch, Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    address_of,
    column_of,
    entry,
    new_message,
    rows_of,
    shorten,
    table_at,
    words_at,
)
from tokenring.operators.folds.compiled_best import ORDER_WORDS, order_table, rank_rows
from tokenring.operators.folds.kernels import BLOCK
from tokenring.operators.folds.top_state import CHANGED, COUNT, HEADER, note_change, place_row, top_tables
from tokenring.operators.mechanisms import MESSAGE, REPLY, CompiledLogic, driven, own_words
from tokenring.operators.migrate import offer
from tokenring.operators.state import LEAST, NUMBERS_WORDS, PLACES, SOURCE_WORDS, Keys, grown, link_numbers, number_by
from tokenring.operators.state.moving import KeyedMoves, MovingKeys, Rows
from tokenring.operators.time import order_words

# Words of its own: where keys are. BY, ORDERS: the columns of the key, and of the order, among those that arrive.
# BLOCKS, of BLOCK_WORDS each: of every slot the words of its key behind HEADER, then MOST rows of ROW_WORDS each: the
# words of the order, then the columns KEPT, which are in neither. SHOWN: of each of WIDTH columns where in a block it
# is, from row to row, and what turns it back into a value. ROW: the row to go on with after there was no room; FOUND:
# slots so far that have changed, in the first column of the message LISTED, 0 outside of calls; with EACH, rows so far
# of the answer, which LISTED is.
_KEYS = 0
_BY, _BY_COUNT, _SOURCES, _SCRATCH, _WORDS, _ORDERS, _ORDER_COUNT, _MOST, _BLOCKS, _BLOCK_WORDS, _ROW_WORDS, _KEPT, \
    _KEPT_COUNT, _SHOWN, _WIDTH, _EACH, _ROW, _FOUND, _LISTED = range(NUMBERS_WORDS, NUMBERS_WORDS + 19)  # fmt: skip
_OWN_WORDS = _LISTED + 1
_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _ROWS = range(5)
_SCRATCH_ROWS = 5
_WORD, _STEP, _FLIP = range(3)
_SHOWN_WORDS = 3


@kernel
def _write_ranks(own, blocks, slots, message, first):  # type: ignore[no-untyped-def]
    """Write the rows of slots, from the first changed rank on, to a message from row `first` on; returns the next one.
    """
    shown = table_at(own[_SHOWN], own[_WIDTH], _SHOWN_WORDS)
    for position in range(len(shown)):
        column, step, flip, at = column_of(message, position), shown[position, _STEP], shown[position, _FLIP], first
        for slot in slots:
            block = blocks[slot]
            for place in range(block[CHANGED] - 1, block[COUNT]):
                column[at] = block[shown[position, _WORD] + place * step] ^ flip
                at += 1
    ranks, at = column_of(message, len(shown)), first
    for slot in slots:
        block = blocks[slot]
        for place in range(block[CHANGED] - 1, block[COUNT]):
            ranks[at] = place + 1
            at += 1
        block[CHANGED] = 0
    return at


@kernel
def _enter(own, blocks, message, words, slots, rows, listed):  # type: ignore[no-untyped-def]
    """Put rows among the best of their slots. words: their orders; rows: which of the message they are. listed: the
    message of slots that have changed, or of the answer to each row."""
    most, width, first = own[_MOST], own[_ROW_WORDS], HEADER + own[_BY_COUNT]
    by, kept = words_at(own[_BY], own[_BY_COUNT]), words_at(own[_KEPT], own[_KEPT_COUNT])
    touched = column_of(listed, 0)
    found = own[_FOUND]
    for i in range(len(slots)):
        block = blocks[slots[i]]
        if block[COUNT] == 0:
            for column in range(len(by)):
                block[HEADER + column] = column_of(message, by[column])[rows[i]]
        at = place_row(words, i, block, first, width, most, False)
        if at < 0:
            continue
        row = first + at * width + words.shape[1]
        for column in range(len(kept)):
            block[row + column] = column_of(message, kept[column])[rows[i]]
        if own[_EACH]:
            block[CHANGED] = at + 1
            found = _write_ranks(own, blocks, slots[i : i + 1], listed, found)
        else:
            found = note_change(block, at, slots[i], touched, found)
    own[_FOUND] = found


@entry
def _answer_changes(world, me):  # type: ignore[no-untyped-def]
    """Of each key whose best rows a message changes, or of each row that does: the rows from the first rank on that has
    another, and ranks."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows, at = rows_of(message), own[_ROW]
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    if own[_LISTED] == 0:
        own[_LISTED], own[_FOUND] = new_message(world, me, 0, rows * own[_MOST] if own[_EACH] else rows), 0
    listed = own[_LISTED]
    orders = table_at(own[_ORDERS], own[_ORDER_COUNT], ORDER_WORDS)
    words = table_at(own[_WORDS], BLOCK, own[_ORDER_COUNT])
    blocks = table_at(own[_BLOCKS], own[_KEYS + PLACES], own[_BLOCK_WORDS])
    slots, chosen = scratch[_SLOTS], scratch[_ROWS]
    while at < rows:
        some = min(BLOCK, rows - at)
        done, _ = number_by(
            own, _KEYS, _BY, message, at, some, scratch[_WANTED], slots, scratch[_FRESH], scratch[_FRESH_ROWS]
        )
        if done < some:
            own[_ROW] = at
            return NEEDS_ROOM
        left = rank_rows(orders, message, at, slots[:some], chosen, words)
        _enter(own, blocks, message, words, slots[:left], chosen, listed)
        at += some
    own[_ROW] = own[_LISTED] = 0
    reply = listed
    if own[_EACH]:
        shorten(reply, own[_FOUND])
    else:
        touched = column_of(listed, 0)[: own[_FOUND]]
        room = 0
        for slot in touched:
            room += blocks[slot, COUNT] - blocks[slot, CHANGED] + 1
        reply = new_message(world, me, 0, room)
        _write_ranks(own, blocks, touched, reply, 0)
    state[REPLY] = reply
    return DONE


class _State:
    """One worker's keys and their best rows."""

    def __init__(
        self, schema: Schema, by: Sequence[str], orders: Sequence[str], most: int, largest: bool, width: int
    ) -> None:
        self._keys = Keys(schema, by)
        self._by = np.array([schema.position(name) for name in by], np.int64)
        self._sources = np.zeros((len(by), SOURCE_WORDS), np.int64)
        self._scratch = np.zeros((_SCRATCH_ROWS, BLOCK), np.int64)
        self._ranked = np.zeros((BLOCK, len(orders)), np.int64)
        self._orders = order_table(schema, orders, largest)
        self._kept, self._shown = _layout(schema, by, orders, largest, width)
        self.words = words = np.zeros(_OWN_WORDS, np.int64)
        words[_BY], words[_BY_COUNT], words[_SOURCES] = address_of(self._by), len(by), address_of(self._sources)
        words[_SCRATCH], words[_WORDS] = address_of(self._scratch), address_of(self._ranked)
        words[_ORDERS], words[_ORDER_COUNT], words[_MOST] = address_of(self._orders), len(orders), most
        words[_KEPT], words[_KEPT_COUNT] = address_of(self._kept), len(self._kept)
        words[_SHOWN], words[_WIDTH] = address_of(self._shown), width
        words[_ROW_WORDS] = row_words = len(orders) + len(self._kept)
        words[_BLOCK_WORDS] = HEADER + len(by) + most * row_words
        self._blocks = np.zeros((64, int(words[_BLOCK_WORDS])), np.int64)
        self._link()
        self._ordered = orders[0], tuple(orders[1:]), largest
        self._sent, self._key = schema.select(schema.names[:width]), tuple(by)
        self._others = [name for name in self._sent.names if schema.position(name) in self._kept.tolist()]
        moving = MovingKeys(self._keys, by, in_kernels=True)
        offer(KeyedMoves(top_tables(schema, by, self._sent), moving, self, self._link))

    def _link(self) -> None:
        self._blocks = grown(self._blocks, self._keys.capacity, axis=0)
        link_numbers(self.words, _KEYS, self._keys)
        self.words[_BLOCKS] = address_of(self._blocks)

    def grow(self) -> None:
        """Make room for another key."""
        self._keys.grow()
        self._link()


    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept: of each slot its rows, in order."""
        blocks = self._blocks
        counts = blocks[slots, COUNT]
        which = np.repeat(np.arange(len(slots)), counts)
        places = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns = [blocks[slots[which], word + places * step] ^ flip for word, step, flip in self._shown.tolist()]
        blocks[slots, :HEADER] = 0
        return [(((), ()), None), ((tuple(columns), (None,) * len(columns)), which)]

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        self._link()
        blocks, owners, rows = self._blocks, slots[1], tables[1].select(self._sent)
        blocks[slots[0], :HEADER] = 0
        for at in range(len(self._key)):
            blocks[slots[0], HEADER + at] = tables[0].columns[at].view(np.int64)
        first = np.flatnonzero(np.diff(owners, prepend=-1))  # a slot's rows come one after the other
        places = np.arange(rows.rows) - np.repeat(first, np.diff(first, append=rows.rows))
        blocks[owners, COUNT] = places + 1  # the last counts
        orders = order_words(rows, *self._ordered)
        others = [rows.words(name).view(np.int64) for name in self._others]
        starts = HEADER + len(self._key) + places * int(self.words[_ROW_WORDS])
        for number, words in enumerate([*orders.T, *others]):
            blocks[owners, starts + number] = words


def _layout(
    schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """The columns that blocks hold beside the key's and the order's words, and where each of the first `width` columns
    is found again. The words of floats do not tell 0.0 from -0.0: such an order's column is held as well."""
    told = [name for name in orders if schema.kind(name).name != "float64"]
    kept = [name for name in schema.names[:width] if name not in by and name not in told]
    first, row_words = HEADER + len(by), len(orders) + len(kept)
    shown = np.zeros((width, _SHOWN_WORDS), np.int64)
    for position, name in enumerate(schema.names[:width]):
        if name in by:
            shown[position] = HEADER + list(by).index(name), 0, 0
        elif name in kept:
            shown[position] = first + len(orders) + kept.index(name), row_words, 0
        else:
            at = list(orders).index(name)
            unsigned = LEAST if schema.kind(name).name == "uint64" else 0
            shown[position] = first + at, row_words, unsigned ^ (-1 if largest and at == 0 else 0)
    return np.array([schema.position(name) for name in kept], np.int64), shown


def compiled_top(
    schema: Schema, by: Sequence[str], orders: Sequence[str], most: int, largest: bool, each: bool, width: int
) -> CompiledLogic:
    """What changes in the `most` best rows of each key, by keys of words, without float64. orders: the column that
    counts, then the ties. each: whether it is said of each row, or of each message. width: how many of the columns are
    sent, before the rank. Memory: for each key, most rows of the columns that are not of the key (8 bytes more for each
    order of float64), the key and 16 bytes."""
    state = _State(schema, by, orders, most, largest, width)
    state.words[_EACH] = each
    return CompiledLogic(state.words, _answer_changes, owners=(state,), make_room=state.grow)
