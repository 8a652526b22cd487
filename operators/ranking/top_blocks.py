"""The best rows of each key in the worker's inner loop, in blocks that hold the rows as well: what changes in them, or
all of them when the input has ended."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import COMPLETE, AnyStream, Batch, Notify, Schema, Time, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Record,
    Words,
    address_of,
    column_of,
    entry,
    heap_of_words,
    new_message,
    record_at,
    record_of,
    records_at,
    rows_of,
    shorten,
    table_at,
    words_at,
)
from tokenring.operators.aggregates import MovingWindows, window_tables
from tokenring.operators.folds import BLOCK, Plan, to_owners
from tokenring.operators.mechanisms import CompiledLogic, driven, give, mechanism_of, own_record, times_asked
from tokenring.operators.migrate import of_version, offer
from tokenring.operators.ranking.best import Order, Ranking, order_table, rank_rows
from tokenring.operators.ranking.top_state import HEADER, Header, note_change, place_row, top_tables
from tokenring.operators.state import (
    FIRST_SLOTS,
    LEAST,
    HeapedColumns,
    KeptTexts,
    Keys,
    KeyWords,
    TextStore,
    bytes_in,
    bytes_to_keep,
    grown,
    has_room_for_texts,
    keep_text,
    key_counts,
    link_columns,
    link_numbers,
    live_of,
    number_by,
    shared_scratch,
    values_of,
    with_key_words,
)
from tokenring.operators.state.moving import KeyedMoves, MovingKeyWords, Rows
from tokenring.operators.time import FOREVER, order_words

_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _ROWS, _ENTERED = range(6)
_SCRATCH_ROWS = 6
_NO_KEY = -1
_NOT_YET = -2
"""What stands for a row's texts until all rows of a piece of a message have been ranked, less its number there; no
text's word, nor null's, is as low."""
_COUNT = Header.place_of("count")
_END = FOREVER.step
_MESSAGE_ROWS = 1 << 16
"""About as many rows have the messages of which all rows are sent."""


class Shown(Record):
    """Of a column that is sent where in a block it is, from row to row, and what turns it back into a value."""

    word: int
    step: int
    flip: int
    key_column: int


class Top(Ranking):
    """`blocks`, of `block_words` each: of every slot the words of its key behind HEADER, then `most` rows of
    `row_words` each: the words of the order, then the columns `kept`, which are in neither; of `kept_count` the first
    `text_count` are text, in `texts`, the address of a TextStore. `shown`: of each of `width` columns. `key_words`:
    where the key's KeyWords are, of `columns` that arrive. `row`: the row to go on with after there was no room;
    `found`: slots so far that have changed, in the first column of the message `listed`, 0 outside of calls; with
    `each`, rows so far of the answer, which `listed` is. `sent`: whether all was, so that nothing is to be kept any
    more. `closed`: all was sent up to then."""

    most: int
    blocks: int
    block_words: int
    row_words: int
    kept: int
    kept_count: int
    text_count: int
    texts: int
    shown: int
    width: int
    key_words: int
    columns: int
    each: int
    equal_wins: int
    row: int
    found: int
    listed: int
    sent: int
    closed: int


@kernel
def _write_ranks(own: Top, blocks: Words, slots: Words, message: int, first: int) -> int:
    """Write the rows of slots, from the first changed rank on, to a message from row `first` on; returns the next one.
    """
    shown = records_at(own.shown, own.width, Shown)
    for position in range(len(shown)):
        column, step, flip, at = column_of(message, position), shown[position].step, shown[position].flip, first
        for slot in slots:
            block, header = blocks[slot], record_of(blocks[slot], Header)
            for place in range(header.changed - 1, header.count):
                column[at] = block[shown[position].word + place * step] ^ flip
                at += 1
        if shown[position].key_column != _NO_KEY:
            values_of(own.key_words, shown[position].key_column, column[first:at])
    ranks, at = column_of(message, len(shown)), first
    for slot in slots:
        header = record_of(blocks[slot], Header)
        for place in range(header.changed - 1, header.count):
            ranks[at] = place + 1
            at += 1
        header.changed = 0
    return at


@kernel
def _has_room_for_kept(world: int, own: Top, message: int, at: int, some: int) -> bool:
    """Whether there is room for the texts of all these rows."""
    if own.text_count == 0:
        return True
    texts, size_bytes = record_at(own.texts, TextStore), 0
    for column in words_at(own.kept, own.text_count):
        size_bytes += bytes_to_keep(texts, column_of(message, column)[at : at + some])
    return has_room_for_texts(world, texts, size_bytes)


@kernel
def _keep_texts(own: Top, message: int, row: int, into: Words, at: int) -> None:
    """Keep the texts of a row of the message: their words stand in `into` from word `at` on."""
    kept = words_at(own.kept, own.text_count)
    for column in range(len(kept)):
        into[at + column] = keep_text(record_at(own.texts, TextStore), column_of(message, kept[column])[row])


@kernel
def _enter(
    own: Top,
    blocks: Words,
    message: int,
    keyed: int,
    words: Words,
    slots: Words,
    rows: Words,
    entered: Words,
    listed: int,
) -> None:
    """Put rows among the best of their slots. keyed: the message with its key in words; words: the rows' orders; rows:
    which of the message they are; entered: scratch. listed: the message of slots that have changed, or of the answer to
    each row; 0 where nobody hears of changes."""
    most, width, first = own.most, own.row_words, HEADER + own.by.count
    by, kept = words_at(own.by.numbers, own.by.count), words_at(own.kept, own.kept_count)
    texts, is_answered = own.text_count, listed != 0 and own.each != 0
    found, count = own.found, 0
    for i in range(len(slots)):
        block, header = blocks[slots[i]], record_of(blocks[slots[i]], Header)
        if header.count == 0:
            for column in range(len(by)):
                block[HEADER + column] = column_of(keyed, by[column])[rows[i]]
        at = place_row(words, i, block, first, width, most, own.equal_wins != 0)
        if at < 0:
            continue
        row = first + at * width + words.shape[1]
        for column in range(texts, len(kept)):
            block[row + column] = column_of(message, kept[column])[rows[i]]
        if is_answered:
            _keep_texts(own, message, rows[i], block, row)
            header.changed = at + 1
            found = _write_ranks(own, blocks, slots[i : i + 1], listed, found)
            continue
        if texts > 0:
            block[row] = _NOT_YET - i
            entered[count] = i
            count += 1
        if listed != 0:
            found = note_change(header, at, slots[i], column_of(listed, 0), found)
    for i in entered[:count]:  # most have been pushed out again by rows behind them
        block = blocks[slots[i]]
        for row in range(first + words.shape[1], first + record_of(block, Header).count * width, width):
            if block[row] == _NOT_YET - i:
                _keep_texts(own, message, rows[i], block, row)
    own.found = found


@kernel
def _blocks_of(own: Top) -> Words:
    return table_at(own.blocks, own.keys.places, own.block_words)


@kernel
def _take_rows(world: int, own: Top, message: int, listed: int) -> bool:
    """Put the rows of a message among the best of their keys, from the one on that is to be gone on with; False if
    there was no room."""
    rows, at = rows_of(message), own.row
    scratch = table_at(own.scratch, _SCRATCH_ROWS, BLOCK)
    orders = records_at(own.orders, own.order_count, Order)
    words = table_at(own.ranked, BLOCK, own.order_count)
    slots, chosen = scratch[_SLOTS], scratch[_ROWS]
    keyed = with_key_words(world, own.key_words, message, own.columns, own.by)
    if keyed == 0:
        return False
    while at < rows:
        some = min(BLOCK, rows - at)
        done, _ = number_by(
            own.keys, own.by, keyed, at, some, scratch[_WANTED], slots,
            scratch[_FRESH], scratch[_FRESH_ROWS],
        )
        if done < some or not _has_room_for_kept(world, own, message, at, some):
            own.row = at
            return False
        left = rank_rows(orders, message, at, slots[:some], chosen, words)
        _enter(own, _blocks_of(own), message, keyed, words, slots[:left], chosen, scratch[_ENTERED], listed)
        at += some
    own.row = 0
    return True


@entry
def _answer_changes(world: int, me: int) -> int:
    """Of each key whose best rows a message changes, or of each row that does: the rows from the first rank on that has
    another, and ranks."""
    state, own = driven(world, me), own_record(world, me, Top)
    message = state.message
    rows = rows_of(message)
    if own.listed == 0:
        own.listed, own.found = new_message(world, me, 0, rows * own.most if own.each else rows), 0
    reply = own.listed
    if not _take_rows(world, own, message, reply):
        return NEEDS_ROOM
    own.listed = 0
    if own.each:
        shorten(reply, own.found)
    else:
        touched, blocks = column_of(reply, 0)[: own.found], _blocks_of(own)
        room = 0
        for slot in touched:
            header = record_of(blocks[slot], Header)
            room += header.count - header.changed + 1
        reply = new_message(world, me, 0, room)
        _write_ranks(own, blocks, touched, reply, 0)
    state.reply = reply
    return DONE


@entry
def _ask_end(world: int, me: int) -> int:
    """Ask for the end of all time."""
    times_asked(world, me, min(1, rows_of(driven(world, me).message)))[:] = _END
    return DONE


@entry
def _take_all(world: int, me: int) -> int:
    """Put the rows of a message among the best of their keys."""
    state, own = driven(world, me), own_record(world, me, Top)
    if not _take_rows(world, own, state.message, 0):
        return NEEDS_ROOM
    state.made = _END if live_of(own.keys) > 0 else COMPLETE
    return DONE


@entry
def _emit_all(world: int, me: int) -> int:
    """Send all rows, in the order in which their keys came, and forget them."""
    state, own = driven(world, me), own_record(world, me, Top)
    if own.sent:
        own.sent = 0
        state.made = COMPLETE
        return DONE
    own.closed = _END
    blocks, limit, at = _blocks_of(own), key_counts(own.keys).limit, 0
    while at < limit:
        slots = column_of(new_message(world, me, 0, min(_MESSAGE_ROWS, limit - at)), 0)
        count = rows = 0
        while at < limit and count < len(slots) and rows < _MESSAGE_ROWS:
            header = record_of(blocks[at], Header)
            if header.count > 0:
                header.changed = 1
                slots[count] = at
                rows += header.count
                count += 1
            at += 1
        if rows > 0:
            message = new_message(world, me, 0, rows)
            _write_ranks(own, blocks, slots[:count], message, 0)
            give(world, me, _END, message)
    own.sent = 1
    return NEEDS_ROOM


class _State:
    """One worker's keys and their best rows."""

    def __init__(
        self, schema: Schema, by: Sequence[str], orders: Sequence[str], most: int, largest: bool, width: int
    ) -> None:
        self.key_words = KeyWords(schema, by)
        self.keys = Keys(Schema.of(self.key_words.spec), by)
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self._ranked = shared_scratch(__name__, BLOCK, len(orders))
        self._orders = order_table(schema, orders, largest)
        self._kept, self._shown = _layout(schema, by, orders, largest, width)
        text_count = sum([schema.kind(name).is_text for name in self._kept])
        self._texts = KeptTexts() if text_count else None
        self._positions = np.array([schema.position(name) for name in self._kept], np.int64)
        self.own = own = Top()
        self._by = link_columns(own.by, [schema.position(name) for name in by])
        own.scratch, own.ranked = address_of(self._scratch), address_of(self._ranked)
        own.orders, own.order_count, own.most = address_of(self._orders), len(orders), most
        own.kept, own.kept_count = address_of(self._positions), len(self._kept)
        own.text_count, own.texts = text_count, 0 if self._texts is None else self._texts.store.address
        own.shown, own.width = address_of(self._shown), width
        own.key_words, own.columns, own.closed = self.key_words.address, len(schema), -1
        own.row_words = row_words = len(orders) + len(self._kept)
        own.block_words = HEADER + len(by) + most * row_words
        self._rows_at = HEADER + len(by)
        self._ordered = orders[0], tuple(orders[1:]), largest
        self.sent = schema.select(schema.names[:width])
        self._start()

    def _start(self) -> None:
        self._blocks = np.zeros((FIRST_SLOTS, self.own.block_words), np.int64)
        self.link()

    def link(self) -> None:
        """Have a block for each key that there can be, and say where all is."""
        self._blocks = grown(self._blocks, self.keys.capacity, axis=0)
        link_numbers(self.own.keys, self.keys)
        self.own.blocks = address_of(self._blocks)

    def grow(self) -> None:
        """Make room for another key, and for texts; where all was sent, begin anew."""
        if self.own.sent:
            self.keys.clear()
            self._start()
            return
        self.key_words.grow(self.keys)
        self.keys.grow()
        if self._texts is not None and self._texts.lacks_room:
            self._move_texts(self._texts.make_room)
        self.link()

    def _move_texts(self, move: Callable[[Sequence[np.ndarray]], None]) -> None:
        """Let `move` have all texts that are kept, int64, to write where they are then: 0 where there is no row."""
        first, row_words = self._rows_at + self.own.order_count, self.own.row_words
        starts = np.arange(first, self._blocks.shape[1], row_words)
        columns = (starts[:, None] + np.arange(self.own.text_count)).ravel()
        words = np.ascontiguousarray(self._blocks[:, columns])
        move([words.reshape(-1)])
        self._blocks[:, columns] = words

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept: of each slot its rows, in order."""
        blocks = self._blocks
        counts = blocks[slots, _COUNT]
        which = np.repeat(np.arange(len(slots)), counts)
        places = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns, heaps = [], []
        for (word, step, flip, key), kind in zip(self._shown.tolist(), self.sent.kinds, strict=True):
            values = blocks[slots[which], word + places * step] ^ flip
            if kind.is_text and key != _NO_KEY:
                values = self.key_words.texts[key].texts_of(values)
            columns.append(values.view(kind.dtype))
            heaps.append(heap_of_words() if kind.is_text else None)
        blocks[slots] = 0
        rows = Batch.wrap(self.sent, tuple(columns), len(which), tuple(heaps) if self.sent.has_text else ())
        if rows.heaps:
            rows = rows.copy()  # what is kept may move
        return [(((), ()), None), ((rows.columns, rows.heaps or (None,) * len(rows.columns)), which)]

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        self.link()
        blocks, owners, rows = self._blocks, slots[1], tables[1].select(self.sent)
        blocks[slots[0]] = 0
        for at in range(self.own.by.count):
            blocks[slots[0], HEADER + at] = self.keys.words(at)[slots[0]]
        first = np.flatnonzero(np.diff(owners, prepend=-1))  # a slot's rows come one after the other
        places = np.arange(rows.rows) - np.repeat(first, np.diff(first, append=rows.rows))
        blocks[owners, _COUNT] = places + 1  # the last counts
        starts = self._rows_at + places * self.own.row_words
        words = [*order_words(rows, *self._ordered).T, *self._kept_words(rows)]
        for number, column in enumerate(words):
            blocks[owners, starts + number] = column

    def _kept_words(self, rows: Batch) -> list[np.ndarray]:
        """The columns of others' rows as blocks have them, between two runs."""
        columns = [np.ascontiguousarray(rows.words(name)).view(np.int64) for name in self._kept]
        texts, count = self._texts, self.own.text_count
        if texts is not None:
            size_bytes = sum([int(bytes_in(words)) for words in columns[:count]])
            if not texts.has_room(size_bytes):
                self._move_texts(lambda kept: texts.reserve(size_bytes, kept))
            for at in range(count):
                heap = rows.heaps[rows.schema.position(self._kept[at])]
                assert heap is not None
                columns[at] = texts.keep(columns[at], heap, ())
        return columns


class _KeysOfAllTime(MovingKeyWords):
    """Keys behind the end of the one window that all rows are in."""

    def columns(self, slots: np.ndarray) -> HeapedColumns:
        """See KeySlots."""
        columns, heaps = super().columns(slots)
        return (np.full(len(slots), _END), *columns), (None, *heaps)

    def _as_words(self, batch: Batch) -> Batch:
        return super()._as_words(batch.select(batch.schema.select(batch.schema.names[1:])))


class _OneWindow:
    """See OpenPanes: all rows are in one window, which ends when the input has ended."""

    def __init__(self, state: _State) -> None:
        self._state = state

    @property
    def closed(self) -> Time:
        """See OpenPanes."""
        return self._state.own.closed

    def leave(self, slots: np.ndarray) -> None:
        """See OpenPanes."""

    def make_room(self) -> None:
        """See OpenPanes."""
        self._state.link()

    def arrive(self, slots: np.ndarray, ends: np.ndarray, closed: np.ndarray) -> None:
        """See OpenPanes."""

    def least(self) -> Time:
        """See OpenPanes."""
        return _END if len(self._state.keys) else COMPLETE


def _layout(
    schema: Schema, by: Sequence[str], orders: Sequence[str], largest: bool, width: int
) -> tuple[list[str], np.ndarray]:
    """The columns that blocks hold beside the key's and the order's words, texts first, and where each of the first
    `width` columns is found again. The words of floats do not tell 0.0 from -0.0: those columns are held as well."""
    told = [name for name in (*by, *orders) if not schema.kind(name).is_float]
    others = [name for name in schema.names[:width] if name not in told]
    kept = sorted(others, key=lambda name: not schema.kind(name).is_text)
    first, row_words = HEADER + len(by), len(orders) + len(kept)
    shown = np.zeros((width, Shown.size), np.int64)
    for position, name in enumerate(schema.names[:width]):
        if name in kept:
            shown[position] = first + len(orders) + kept.index(name), row_words, 0, _NO_KEY
        elif name in by:
            at = list(by).index(name)
            shown[position] = HEADER + at, 0, 0, at
        else:
            at = list(orders).index(name)
            unsigned = LEAST if schema.kind(name).is_unsigned else 0
            shown[position] = first + at, row_words, unsigned ^ (-1 if largest and at == 0 else 0), _NO_KEY
    return kept, shown


def compiled_top(
    schema: Schema, by: Sequence[str], orders: Sequence[str], most: int, largest: bool, each: bool, width: int
) -> CompiledLogic:
    """What changes in the `most` best rows of each key. orders: the column that counts, then the ties, no texts. each:
    whether it is said of each row, or of each message. width: how many of the columns are sent, before the rank.
    Memory: for each key, most rows of the columns that are not of the key (8 bytes more for each order of float64), the
    key and 16 bytes."""
    state = _State(schema, by, orders, most, largest, width)
    state.own.each = each
    moving = MovingKeyWords(schema.select(by), state.keys, state.key_words, by)
    offer(KeyedMoves(top_tables(schema, by, state.sent), moving, state, state.link))
    return CompiledLogic(state.own.words, _answer_changes, owners=(state,), make_room=state.grow)


def final_top(
    stream: AnyStream, plan: Plan, schema: Schema, orders: Sequence[str], most: int, largest: bool, equal_wins: bool
) -> AnyStream:
    """The `most` best rows of each key, with their rank from 1 as the last column of `schema`, all when the input has
    ended. orders: the column that counts, then the ties. equal_wins: of rows that are equal in all orders, the last to
    come goes first."""
    rows = stream.schema
    edge, plan, by = to_owners(stream, plan, None, whole=True)
    moves = of_version(window_tables(plan, plan.by, [{}, rows.spec()]), plan.said)

    def compiled() -> CompiledLogic:
        state = _State(plan.schema, by, orders, most, largest, len(rows))
        state.own.equal_wins = equal_wins
        keys = _KeysOfAllTime(plan.schema.select(by), state.keys, state.key_words, by)
        offer(MovingWindows(moves, keys, state, _OneWindow(state)))
        return CompiledLogic(
            state.own.words, _emit_all, (_take_all,), (_ask_end,), owners=(state,), make_room=state.grow
        )

    return mechanism_of(stream.scope).timed(
        plan.operator, [edge], schema, None, Notify.IF_TOKEN, compiled=compiled, moves=moves
    )
