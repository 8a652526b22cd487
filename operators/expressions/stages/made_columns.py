"""A stage that adds columns which a function of Python's makes of others: remembered by their words, where few occur.

The inner loop itself looks up what is remembered. It calls Python, back through a C function, for words that it meets
for the first time; and for all rows of a message where words do not mean the same later on (text that came with its
bytes), or too few come again.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from weakref import ref

import numpy as np

from tokenring.engine import Batch, Schema, Strings, kernel
from tokenring.engine.compiled import (
    CompiledStage,
    StageBeginning,
    Words,
    address_of,
    addresses_of,
    array_at,
    bare_message,
    batch_at,
    bring_texts,
    call_at,
    column_of,
    entry,
    first_private_word,
    give_keys,
    is_all_common,
    keys_of,
    lease,
    record_at,
    round_of,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.expressions.stages.looked_up import (
    CELLS,
    LEAST_USES,
    MOST_KEYS,
    ROWS_AT_ONCE,
    look_up,
    number_words,
)
from tokenring.operators.expressions.stages.made_texts import MadeTexts, are_in_space
from tokenring.operators.state import grown


class MadeState(StageBeginning):
    """`python`: the function to be called; how many columns come in, and are `made`; `remembers`: whether words are
    remembered, the `cells` of their numbers, and how many there are; `kept`: what was made of each, and for how many
    there is room; the positions of the key's columns, whether they are text, and the first word of text that is not
    remembered; `uses`: rows that were looked up; for Python, the rows whose words are new, how many and where they
    begin, the round, the message's rows and its columns' addresses; `results`: where it leaves (address, heap's address
    or 0) of what it made."""

    python: int
    before: int
    made: int
    remembers: int
    cells: int
    known: int
    kept: int
    kept_room: int
    first: int
    second: int
    is_text: int
    private: int
    uses: int
    fresh: int
    fresh_count: int
    start: int
    round: int
    rows: int
    columns: int
    results: int


_ALL, _NEW, _FULL = range(3)  # what Python is called for: columns of all rows, what is to be remembered of some, room
_FAILED, _DONE, _NOT_REMEMBERED = -1, 0, 1  # what it answers
_PAD = 8
_FIRST_ROOM = 64
_CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@kernel
def _look_up_all(world: int, own: MadeState, message: int, found: Words) -> int:
    """Fill the columns of `found` with what is remembered, or is now; what Python answers."""
    rows = rows_of(message)
    first, second = column_of(message, own.first), column_of(message, own.second)
    if own.is_text != 0 and not (is_all_common(first, own.private) and is_all_common(second, own.private)):
        return _NOT_REMEMBERED
    if own.known > MOST_KEYS:
        answer = call_at(own.python, world, _FULL)
        if answer != _DONE:
            return answer
    slots = words_at(lease(world_at(world), 8 * rows), rows)
    fresh = words_at(lease(world_at(world), 8 * min(rows, ROWS_AT_ONCE)), min(rows, ROWS_AT_ONCE))
    own.fresh = fresh.ctypes.data
    cells = table_at(own.cells, CELLS, 3)
    for start in range(0, rows, ROWS_AT_ONCE):
        stop = min(rows, start + ROWS_AT_ONCE)
        if own.known > MOST_KEYS:
            return _NOT_REMEMBERED
        added = number_words(cells, first[start:stop], second[start:stop], own.known, slots[start:stop], fresh)
        own.uses += stop - start
        if added > 0:
            own.fresh_count, own.start = added, start
            answer = call_at(own.python, world, _NEW)
            if answer != _DONE:
                return answer
    look_up(table_at(own.kept, own.kept_room, found.shape[0]), slots, found)
    return _DONE


@entry
def make_columns(world: int, state: int) -> int:
    """The message with more columns."""
    own, graph = record_at(state, MadeState), world_at(world)
    message = own.message
    rows, before, width = rows_of(message), own.before, own.made
    made = bare_message(graph, before + width, rows)
    target, source = addresses_of(made), addresses_of(message)
    for column in range(before):
        target[column] = source[column]
    give_keys(made, keys_of(message))
    stride = (rows + _PAD - 1) // _PAD * _PAD * 8
    room = lease(graph, stride * width)
    for column in range(width):
        target[before + column] = room + column * stride
    own.round, own.rows, own.columns, own.row = round_of(world), rows, source.ctypes.data, 0
    if own.remembers != 0:
        answer = _look_up_all(world, own, message, table_at(room, width, stride // 8))
        if answer == _DONE:
            return made
        if answer < 0:
            return answer
    answer = call_at(own.python, world, _ALL)
    if answer < 0:
        return answer
    results = table_at(own.results, width, 2)
    addresses, heaps = words_at(lease(graph, 8 * width), width), words_at(lease(graph, 8 * width), width)
    for column in range(width):
        addresses[column], heaps[column] = results[column, 0], results[column, 1]
    bring_texts(world, addresses, heaps, rows)
    for column in range(width):
        if addresses[column] != results[column, 0]:
            target[before + column] = addresses[column]  # texts that were brought have got new words
        else:
            copy, found = words_at(target[before + column], rows), words_at(addresses[column], rows)
            for row in range(rows):
                copy[row] = found[row]
    return made


class MadeColumns:
    """What Python does for such a stage. `columns` are remembered by; none: nothing is remembered."""

    def __init__(
        self, function: Callable[[Batch], Batch | None], before: Schema, after: Schema, columns: Sequence[str] = ()
    ) -> None:
        """function: of batches of the schema `before`, or of its `columns` alone if there are some; the last columns of
        what it returns are those that `after` has besides."""
        self._function = function
        self._schema = before.select(tuple(columns)) if columns else before
        self._positions = [before.position(name) for name in self._schema.names]
        self._width = len(after) - len(before)
        self._texts = MadeTexts()
        self._error: BaseException | None = None
        self._made: list[np.ndarray] = []  # what the stage copies
        self._results = np.zeros((max(self._width, 1), 2), np.int64)
        self._cells: np.ndarray = np.zeros(0, np.int64)
        self._kept: np.ndarray = np.zeros((0, self._width), np.int64)
        self._called = _CALLED(partial(_answer, ref(self)))
        self.state = state = MadeState()
        state.python = ctypes.cast(self._called, ctypes.c_void_p).value or 0
        state.before, state.made, state.results = len(before), self._width, address_of(self._results)
        state.private = first_private_word()
        if columns:
            state.remembers, state.first, state.second = True, self._positions[0], self._positions[-1]
            state.is_text = any([kind.is_text for kind in self._schema.kinds])
            self._forget()

    def stage(self) -> CompiledStage:
        """The stage."""
        return CompiledStage(make_columns, self.state.words, (self,), self._explained, has_texts=True)

    def _explained(self, error: int, row: int) -> Exception:
        found = self._error
        assert isinstance(found, Exception), "others were raised where they came from"
        return found

    def answer(self, wanted: int) -> int:
        """Do what the stage asks for."""
        try:
            self._texts.settle(self.state.round)
            return (self._make, self._learn, self._begin_anew)[wanted]()
        except Exception as error:
            self._error = error
            return _FAILED
        except BaseException as error:  # no exception finds its way through compiled code
            self._error = RuntimeError(f"{type(error).__name__}: {error}")
            return _FAILED

    def _rows(self, chosen: np.ndarray | None = None) -> Batch:
        """The columns of the message that the function takes: of all rows, or of those chosen."""
        addresses = array_at(self.state.columns, self.state.before)[self._positions].tolist()
        return batch_at(self._schema, addresses, self.state.rows, chosen)

    def _results_of(self, rows: Batch) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
        """The columns that the function makes, as words, and their heaps."""
        made = self._function(rows)
        assert made is not None, "rows are neither left out nor none"
        columns = [np.ascontiguousarray(words).view(np.int64) for words in made.columns[-self._width :]]
        heaps = made.heaps[-self._width :] if made.heaps else [None] * self._width
        return columns, list(heaps)

    def _make(self) -> int:
        columns, heaps = self._results_of(self._rows())
        self._made = [*columns, *[heap for heap in heaps if heap is not None]]
        for at, (words, heap) in enumerate(zip(columns, heaps, strict=True)):
            self._results[at] = address_of(words), 0 if heap is None else address_of(heap)
        return _DONE

    def _learn(self) -> int:
        """Keep what is made of the newest words, which the stage has numbered."""
        state = self.state
        known, count = state.known, state.fresh_count
        try:
            columns, heaps = self._results_of(self._rows(array_at(state.fresh, count) + state.start))
        except BaseException:
            self._forget()  # there are words without results
            raise
        if known + count > len(self._kept):
            self._kept = grown(self._kept, max(known + count, _FIRST_ROOM), None, axis=0)
            state.kept, state.kept_room = address_of(self._kept), len(self._kept)
        for at, (words, heap) in enumerate(zip(columns, heaps, strict=True)):
            self._kept[known : known + count, at] = words if heap is None else self._lasting(words, heap)
        state.known += count
        return _DONE

    def _lasting(self, words: np.ndarray, heap: np.ndarray) -> np.ndarray:
        """The words of texts that stay, as long as they are remembered."""
        if are_in_space(heap) and int(words.max()) < self.state.private:
            return words
        return self._texts.keep(Strings(words, heap))

    def _begin_anew(self) -> int:
        """Forget everything; for ever, if it was of no use."""
        state = self.state
        state.remembers = state.uses >= LEAST_USES * state.known
        self._forget()
        return _DONE if state.remembers else _NOT_REMEMBERED

    def _forget(self) -> None:
        state = self.state
        self._texts.forget(state.round)
        self._cells = np.zeros((CELLS if state.remembers else 0, 3), np.int64)  # takes memory where it is used
        state.cells, state.known, state.uses = address_of(self._cells), 0, 0


def _answer(made: Callable[[], MadeColumns | None], world: int, wanted: int) -> int:
    """What the stage calls; it knows its columns weakly, so that nothing goes round."""
    columns = made()
    return _FAILED if columns is None else columns.answer(wanted)
