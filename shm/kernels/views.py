"""Records: words in memory that have names, declared once, for kernels and Python alike.

    class Heap(Record):
        first: int                # a word, int64
        keys: KeyMap              # another record, which lies within this one
        counts: Words = room(8)   # so many words in their place

Kernels get one by its address, `heap = record_at(address, Heap)`, and many, one behind the other, by `records_at`; what
they have is `heap.first`, `heap.keys.live`, `heap.counts[2]`. Records go to other kernels by reference. In Python,
`Heap()` is one whose words are 0, and `Heap(words)` one that lies in an array of words, by the same names.

And what kernels see of memory besides, at an address: words, bytes, tables; what a word of text is, and how texts are
copied and compared.
"""

import ctypes
import sys
from collections.abc import MutableSequence
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np

from tokenring.shm.kernels.kernel import STAND_FOR, Later, kernel

if TYPE_CHECKING:
    from _ctypes import _PyCStructType as _StructureType  # as type checkers know it
else:
    _StructureType = type(ctypes.Structure)

R = TypeVar("R")
Words = np.ndarray
"""Of int64, one dimension."""
LENGTH_BITS = 24
LENGTH_MASK = (1 << LENGTH_BITS) - 1
"""The longest text, in bytes."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class _Room:
    def __init__(self, words: int) -> None:
        self.words = words


def room(words: int) -> Any:
    """A field of so many words, which stand in the record."""
    return _Room(words)


def _checked(field: Any) -> property:
    """A field of ctypes', which by itself cuts off what is beyond 64 bits. What reads it stays ctypes' own."""

    def write(record: Record, value: int) -> None:
        if not _LEAST <= value <= _MOST:
            raise OverflowError(f"{value} is no word of 64 bits")
        field.__set__(record, value)

    return property(field.__get__, write)


class _Also:
    def __init__(self, field: str) -> None:
        self.field = field


def also(field: str) -> Any:
    """Another name of a field, where a word means something else."""
    return _Also(field)


class _Words:
    """A field of plain words, behind a field of ctypes' that nobody names."""

    __slots__ = ("_part",)

    def __init__(self, at: int, count: int) -> None:
        self._part = slice(at, at + count)

    def __get__(self, record: "Record | None", kind: Any = None) -> Any:
        return self if record is None else record.words[self._part]

    def __set__(self, record: "Record", value: Any) -> None:
        record.words[self._part] = value


class _Declared(_StructureType):
    """The class of records' classes, by which kernels know one: there it is its dtype."""

    dtype: np.dtype[np.void]
    size: int

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], is_checked: bool = True
    ) -> "_Declared":
        told = {each: namespace.pop(each) for each, is_ in [*namespace.items()] if isinstance(is_, _Room | _Also)}
        made: Any = super().__new__(mcs, name, bases, {"__slots__": (), **namespace})
        if ctypes.Structure in bases:
            made.size, made.dtype = 0, np.dtype([])
            return cast(_Declared, made)
        begun: Any = bases[0].dtype  # type: ignore[attr-defined]
        forms: dict[str, Any] = {each: begun.fields[each] for each in begun.names or ()}
        at, own, around = begun.itemsize // 8, list[tuple[str, Any]](), sys._getframe(1)
        form: Any
        for field, kind in get_annotations(made).items():
            if isinstance(kind, str):  # from __future__ import annotations
                kind = eval(kind, around.f_globals, around.f_locals)
            is_told = told.get(field)
            if isinstance(is_told, _Also):
                forms[field] = forms[is_told.field]
                continue
            if isinstance(is_told, _Room):
                form, count = np.dtype((np.int64, (is_told.words,))), is_told.words
                own.append((f"_{field}", ctypes.c_int64 * count))
                setattr(made, field, _Words(at, count))
            elif isinstance(kind, _Declared):
                form = kind.dtype
                own.append((field, kind))
            elif kind is int:
                form = np.dtype(np.int64)
                own.append((field, ctypes.c_int64))
            else:
                raise TypeError(f"record {name}: field {field} is int, a record, or Words with room(n), not {kind!r}")
            forms[field] = form, 8 * at
            at += form.itemsize // 8
        made._fields_, made.size = own, at
        formats, offsets = zip(*forms.values(), strict=True) if forms else ((), ())
        made.dtype = np.dtype({"names": [*forms], "formats": formats, "offsets": offsets, "itemsize": 8 * at})
        for field, kind in own:
            if kind is ctypes.c_int64 and is_checked:
                setattr(made, field, _checked(made.__dict__[field]))
        for field, is_told in told.items():
            if isinstance(is_told, _Also):
                setattr(made, field, made.__dict__[is_told.field])
        return cast(_Declared, made)

    def original(cls) -> "np.dtype[np.void]":  # noqa: N805 - a metaclass, which ruff does not see
        """What it is to kernels."""
        return cls.dtype


class Record(ctypes.Structure, metaclass=_Declared):
    """Words in memory, by names: see the top of this file. `size`: how many words a record of this class has; `dtype`:
    of the class, numpy's of its fields. TypeError for fields of other kinds. OverflowError for a value that is no word,
    unless the class is declared with `is_checked=False`, for those whose words are written at every step."""

    dtype: ClassVar["np.dtype[np.void]"]
    size: ClassVar[int]

    def __new__(cls, words: Words | None = None) -> Self:
        """words: where it lies, from their first one on; None: in new ones."""
        return super().__new__(cls) if words is None else cls.from_buffer(words.data)

    def __init__(self, words: Words | None = None) -> None:
        pass

    @property
    def words(self) -> Words:
        """Its own, an array of int64: the same memory."""
        whole: Any = self
        return np.frombuffer(whole, np.int64)

    @property
    def address(self) -> int:
        """Where it lies, in bytes; good as long as its words are."""
        return ctypes.addressof(self)

    @classmethod
    def place_of(cls, field: str) -> int:
        """Which of its words is that of a field, or the first one."""
        fields: Any = cls.dtype.fields
        return int(fields[field][1]) // 8

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
_copy_bytes: Any = Later("tokenring.shm.memory.c_functions", "copy_bytes")
load_unaligned: Any = Later("tokenring.shm.memory.c_functions", "load_unaligned")


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


# Most texts are short, and a loop over single bytes takes longer for what is left of one behind its last full vector
# than for all before it: in these kernels the last step goes back to where a full one ends with the text.


@kernel
def copy_text(word: int, heap: int, target: int, at: int) -> int:
    """Copy a text that is not null from the heap at address `heap` to byte `at` of the one at `target`; returns its
    word there. The two do not overlap."""
    length = word & LENGTH_MASK
    source, copy = heap + (word >> LENGTH_BITS), target + at
    if length >= 32:
        done = 0
        while done + 32 < length:
            _copy_bytes(copy + done, source + done, 32)
            done += 32
        _copy_bytes(copy + length - 32, source + length - 32, 32)
    elif length >= 16:
        _copy_bytes(copy, source, 16)
        _copy_bytes(copy + length - 16, source + length - 16, 16)
    elif length >= 8:
        _copy_bytes(copy, source, 8)
        _copy_bytes(copy + length - 8, source + length - 8, 8)
    elif length >= 4:
        _copy_bytes(copy, source, 4)
        _copy_bytes(copy + length - 4, source + length - 4, 4)
    else:
        octets, copied = bytes_at(source, length), bytes_at(copy, length)
        for i in range(length):
            copied[i] = octets[i]
    return at << LENGTH_BITS | length


@kernel
def same_octets(first: int, second: int, length: int) -> bool:
    """Whether so many bytes at two addresses are the same."""
    if length >= 8:
        done = 0
        while done + 8 < length:
            if load_unaligned(first + done) != load_unaligned(second + done):
                return False
            done += 8
        return bool(load_unaligned(first + length - 8) == load_unaligned(second + length - 8))
    one, other = bytes_at(first, length), bytes_at(second, length)
    for i in range(length):
        if one[i] != other[i]:
            return False
    return True
