"""Records: words in memory that have names, declared once, for kernels and Python alike.

    class Heap(Record):
        first: int                # a word, int64
        keys: KeyMap              # another record, which lies within this one
        counts: Words = room(8)   # so many words in their place

Kernels get one by its address, `heap = record_at(address, Heap)`, and many, one behind the other, by `records_at`; what
they have is `heap.first`, `heap.keys.live`, `heap.counts[2]`. Records go to other kernels by reference. In Python,
`Heap()` is one whose words are 0, and `Heap(words)` one that lies in an array of words, by the same names.

And what kernels see of memory besides, at an address: words, bytes, tables; and what a word of text is.
"""

import sys
from collections.abc import MutableSequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from tokenring.shm.kernels.kernel import STAND_FOR, Later, kernel

R = TypeVar("R")
Words = np.ndarray
"""Of int64, one dimension."""
LENGTH_BITS = 24
LENGTH_MASK = (1 << LENGTH_BITS) - 1
"""The longest text, in bytes."""


class _Room:
    def __init__(self, words: int) -> None:
        self.words = words


def room(words: int) -> Any:
    """A field of so many words, which stand in the record."""
    return _Room(words)


class _Word:
    __slots__ = ("_at",)

    def __init__(self, at: int) -> None:
        self._at = at

    def __get__(self, record: "Record | None", kind: Any = None) -> Any:
        return self if record is None else record._view[self._at]

    def __set__(self, record: "Record", value: int) -> None:
        record.words[self._at] = value


class _Part:
    """A field of several words: another record, or plain words."""

    __slots__ = ("_make", "_part")

    def __init__(self, at: int, count: int, make: Any) -> None:
        self._part, self._make = slice(at, at + count), make

    def __get__(self, record: "Record | None", kind: Any = None) -> Any:
        return self if record is None else self._make(record.words[self._part])

    def __set__(self, record: "Record", value: Any) -> None:
        record.words[self._part] = value.words if isinstance(value, Record) else value


class _Declared(type):
    """The class of records' classes, by which kernels know one: there it is its dtype."""

    dtype: np.dtype[np.void]
    size: int

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> "_Declared":
        rooms = {field: namespace.pop(field) for field, value in [*namespace.items()] if isinstance(value, _Room)}
        made = super().__new__(mcs, name, bases, {"__slots__": (), **namespace})
        fields: list[Any] = []
        for base in bases:
            dtype = getattr(base, "dtype", None)
            fields += [] if dtype is None else [(each, dtype.fields[each][0]) for each in dtype.names]
        at = sum([np.dtype(form).itemsize for _, form in fields]) // 8
        around = sys._getframe(1)
        for field, kind in made.__annotations__.items() if bases else ():
            if isinstance(kind, str):  # from __future__ import annotations
                kind = eval(kind, around.f_globals, around.f_locals)
            described: Any
            if field in rooms:
                form: Any = np.dtype((np.int64, (rooms[field].words,)))
                described = _Part(at, rooms[field].words, _as_they_are)
            elif isinstance(kind, _Declared):
                form, described = kind.dtype, _Part(at, kind.size, kind)
            elif kind is int:
                form, described = np.dtype(np.int64), _Word(at)
            else:
                raise TypeError(f"record {name}: field {field} is int, a record, or Words with room(n), not {kind!r}")
            fields.append((field, form))
            at += form.itemsize // 8
            type.__setattr__(made, field, described)
        made.size = at
        made.dtype = np.dtype(fields)
        return made

    def original(cls) -> "np.dtype[np.void]":
        """What it is to kernels."""
        return cls.dtype


def _as_they_are(words: Words) -> Words:
    return words


class Record(metaclass=_Declared):
    """Words in memory, by names: see the top of this file. `words` are its own, an array of int64; `size`: how many a
    record of this class has; `dtype`: of the class, numpy's of its fields. TypeError for fields of other kinds."""

    __slots__ = ("_view", "words")
    dtype: ClassVar["np.dtype[np.void]"]
    size: ClassVar[int]

    def __init__(self, words: Words | None = None) -> None:
        """words: where it lies, from their first one on; None: in new ones."""
        self.words = np.zeros(self.size, np.int64) if words is None else words[: self.size]
        self._view = self.words.data  # quicker to read

    @property
    def address(self) -> int:
        """Where it lies, in bytes; good as long as its words are."""
        return int(self.words.ctypes.data)

    @classmethod
    def new_table(cls, count: int) -> np.ndarray:
        """New records, one behind the other, their words 0: an array with their names as fields."""
        return np.zeros(count, cls.dtype)

    @classmethod
    def of_table(cls, table: np.ndarray) -> np.ndarray:
        """The rows of a table of words, int64 (rows, size), as records: the same memory."""
        return table.view(cls.dtype).reshape(-1)

    def __repr__(self) -> str:
        fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.dtype.names or ()])
        return f"{type(self).__name__}({fields})"


STAND_FOR[_Declared] = _Declared.original

_carray: Any = Later("numba", "carray")
_as_pointer: Any = Later("tokenring.shm.memory.intrinsics", "as_pointer")


@kernel
def words_at(address: int, count: int) -> Words:
    """A kernel's view of `count` int64 words at `address`; valid as long as their owner keeps them."""
    return _carray(_as_pointer(address), (count,), np.int64)


@kernel
def records_at(address: int, count: int, record: type[R]) -> MutableSequence[R]:
    """A kernel's view of `count` records at `address`, of a class of records or of a dtype, a constant of the kernel's
    module: what they have is `records[i].name`. Valid as long as their owner keeps them."""
    return _carray(_as_pointer(address), (count,), record)


@kernel
def record_at(address: int, record: type[R]) -> R:
    """A kernel's view of the record at `address`: see `records_at`."""
    return records_at(address, 1, record)[0]


@kernel
def record_of(words: Words, record: type[R]) -> R:
    """A kernel's view of the record that lies in an array, from its first word on."""
    return record_at(words.ctypes.data, record)


@kernel
def records_of(table: np.ndarray, record: type[R]) -> MutableSequence[R]:
    """A kernel's view of the records that are the rows of a table of words."""
    return records_at(table.ctypes.data, len(table), record)


@kernel
def bytes_at(address: int, count: int) -> np.ndarray:
    """A kernel's view of `count` bytes at `address`; valid as long as their owner keeps them."""
    return _carray(_as_pointer(address), (count,), np.uint8)


@kernel
def halves_at(address: int, count: int) -> np.ndarray:
    """A kernel's view of `count` int32 words at `address`; valid as long as their owner keeps them."""
    return _carray(_as_pointer(address), (count,), np.int32)


@kernel
def table_at(address: int, rows: int, columns: int) -> np.ndarray:
    """A kernel's view of int64 words of shape (rows, columns) at `address`; valid as long as their owner keeps them."""
    return _carray(_as_pointer(address), (rows, columns), np.int64)


def address_of(array: np.ndarray, index: int = 0) -> int:
    """The byte address of word `index` of an int64 array."""
    return array.ctypes.data + index * 8  # for records, `__array_interface__` is forty times as dear


@kernel
def copy_text(word, heap, target, at):  # type: ignore[no-untyped-def]
    """Copy a text that is not null from the heap at address `heap` to byte `at` of the one at `target`; returns its
    word there."""
    length = word & LENGTH_MASK
    source, copy = bytes_at(heap + (word >> LENGTH_BITS), length), bytes_at(target + at, length)
    for i in range(length):
        copy[i] = source[i]
    return at << LENGTH_BITS | length
