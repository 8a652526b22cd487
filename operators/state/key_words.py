"""Keys, and values that are counted, of any kind in compiled operators, as words that are equal where the values are: a
text is a number, -0.0 is 0.0, and all NaNs are one.

Texts are compared byte by byte where their hashes are equal. Of texts that all workers have in common a word says which
it is: those that came lately are found by it alone. A text that is of no key any more keeps its number until there is
no room for another; then all such numbers are given back at once.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tokenring.engine import Kind, Schema, Strings, kernel
from tokenring.engine.columns import heap_address
from tokenring.engine.compiled import (
    Record,
    Words,
    address_of,
    alias_of,
    column_of,
    lease,
    point_to,
    record_at,
    round_of,
    rows_of,
    words_at,
    world_at,
)
from tokenring.operators.state.floats import NAN, canonical_floats
from tokenring.operators.state.kept_texts import KeptTexts
from tokenring.operators.state.key_records import KeyColumns
from tokenring.operators.state.keys import Keys
from tokenring.operators.state.text_table import NULL, NumberedTexts, TextTable, number_texts, store_of

AS_IT_IS, FLOATS, NULLABLE_FLOATS = 0, 1, 2
"""What stands for a column of a key that is taken as it is, and for one of float64, which may be null; else the address
of its texts."""
_NULL_FLOAT = Schema(float="float64?").kind("float").null


@kernel
def word_column(world: int, what: int, column: Words, add: bool) -> int:
    """A key's column as words, at an address that is good until the round's end; 0 if there was no room for a text that
    is new. what: what stands for the column. add: whether new texts get numbers; else they are
    none that a key has."""
    if what == AS_IT_IS:
        return column.ctypes.data
    target = lease(world_at(world), 8 * len(column))
    words = words_at(target, len(column))
    if what <= NULLABLE_FLOATS:
        canonical_floats(column, NAN if what == FLOATS else _NULL_FLOAT, words)
    else:
        texts = record_at(what, TextTable)
        store = store_of(texts)
        if not number_texts(texts, column, store.base, NULL, add, words):
            store.round = round_of(world)
            return 0
    return target


class KeyedMessage(Record):
    """The message whose key was put in words last, in which round, and the message that was made."""

    message: int
    round: int
    made: int


@kernel
def with_key_words(world: int, key_words: int, message: int, width: int, by: KeyColumns) -> int:
    """A message of so many columns with words in the place of the columns of its key; 0 if there was no
    room for a text that is new. key_words: the address of KeyWords, 0 where all are taken as they are. Who is run again
    with the same message, since there was no room for something else, is given what was made before."""
    if key_words == 0:
        return message
    before = record_at(key_words + 8 * by.count, KeyedMessage)
    if before.message == message and before.round == round_of(world):
        return before.made
    made = alias_of(world_at(world), message, 0, width)
    kinds, numbers = words_at(key_words, by.count), words_at(by.numbers, by.count)
    for each in range(by.count):
        if kinds[each] != AS_IT_IS:
            target = word_column(world, kinds[each], column_of(message, numbers[each]), True)
            if target == 0 and rows_of(message) > 0:
                return 0
            point_to(made, numbers[each], target)
    before.message, before.round, before.made = message, round_of(world), made
    return made


@kernel
def values_of(key_words: int, column: int, words: Words) -> None:
    """Put a key's values, texts good until the round's end, in the place of the words of its column number `column`."""
    if key_words == 0:
        return
    what = words_at(key_words, column + 1)[column]
    if what <= NULLABLE_FLOATS:
        return
    texts = record_at(what, TextTable)
    stored = words_at(texts.stored, texts.capacity)
    for i in range(len(words)):
        if words[i] >= 0:
            words[i] = stored[words[i]]


class TextNumbers:
    """The texts of one column, of a key or of values that are counted, numbered from 0 on. Memory: that of
    NumberedTexts."""

    def __init__(self) -> None:
        self._texts = KeptTexts()
        self._numbered = NumberedTexts(self._texts.store)

    def grow(self, used: Callable[[], np.ndarray]) -> bool:
        """Make room for another text, where there is none: of those that are not among the `used` ones, int64 of any
        length, nothing stays. Returns whether that was so."""
        numbered, table = self._numbered, self._numbered.table
        if numbered.has_room and not self._texts.lacks_room:
            return False
        self._forget_unused(used())
        # The column at hand is begun anew, and no key has its texts yet.
        if self._texts.lacks_room:
            self._texts.make_room([numbered.kept], table.given_bytes)
        numbered.make_places(max(table.given + 1, table.capacity // 4))
        return True

    def _forget_unused(self, used: np.ndarray) -> None:
        """Give back the numbers of texts that are not among the used ones."""
        gone = self._numbered.kept != NULL
        gone[used[used >= 0]] = False
        self.forget(np.flatnonzero(gone))

    @property
    def address(self) -> int:
        """Of the TextTable, for kernels."""
        return self._numbered.table.address

    def numbers_of(self, texts: Strings, used: Callable[[], np.ndarray]) -> np.ndarray:
        """Before the operator runs in a round: the numbers of texts, new ones where they have none: int64 (texts,).
        Where there is no room for all, of those that are not among the `used` ones nothing stays."""
        if self._numbered.places < len(texts):
            self._forget_unused(used())
        while (numbers := self._numbered.number(texts.words, heap_address(texts.heap))) is None:
            self.grow(used)
        return numbers

    def texts_of(self, numbers: np.ndarray) -> np.ndarray:
        """The words of texts, as they are until the next call: of int64 (n,), -1 for null, int64 (n,)."""
        return self._numbered.words_of(numbers)

    def forget(self, numbers: np.ndarray) -> None:
        """Between two runs: these are of no key any more, each named once."""
        self._numbered.forget(numbers)


def what_stands_for(kind: Kind, texts: TextNumbers | None) -> int:
    """What `word_column` is told of a column of this kind; texts: of one of text, its own."""
    if texts is not None:
        return texts.address
    if kind.is_float:
        return NULLABLE_FLOATS if kind.nullable else FLOATS
    return AS_IT_IS


class KeyWords:
    """A key's columns as words. kinds: a word for each that says what stands for it, at `address`, which is
    0 if all are taken as they are. spec: the kinds of the words, by name."""

    def __init__(self, schema: Schema, by: Sequence[str]) -> None:
        kinds = [schema.kind(name) for name in by]
        self._texts = {at: TextNumbers() for at, kind in enumerate(kinds) if kind.is_text}
        stands_for = [what_stands_for(kind, self._texts.get(at)) for at, kind in enumerate(kinds)]
        self._words = np.array([*stands_for, *[0] * KeyedMessage.size], np.int64)
        self.address = address_of(self._words) if any(stands_for) else 0
        self.spec = {name: "int64" if kind.is_text else str(kind) for name, kind in zip(by, kinds, strict=True)}

    @property
    def kinds(self) -> np.ndarray:
        """See KeyWords: int64 (columns of the key,)."""
        return self._words[: -KeyedMessage.size]

    @property
    def texts(self) -> dict[int, TextNumbers]:
        """By column of the key, of those that are text."""
        return self._texts

    def grow(self, keys: Keys, first: int = 0) -> None:
        """Make room for another text in each column, where there is none. keys: all that there are, in words; first:
        their column where the key begins."""
        for at, texts in self._texts.items():
            if texts.grow(partial(numbers_in_use, keys, first + at)):
                # Texts of the message before, which no key has yet, may have lost their numbers.
                KeyedMessage(self._words[-KeyedMessage.size :]).message = 0


def numbers_in_use(keys: Keys, column: int) -> np.ndarray:
    """The numbers of texts that keys have in a column: int64 (keys,)."""
    return keys.words(column)[keys.live()]
