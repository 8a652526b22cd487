"""Arguments that the samples take, and such as they refuse, with what is said then."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.errors import Fact

LEAST, MOST = -(2**63), 2**63 - 1


def words(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def table(rows: int, width: int) -> np.ndarray:
    return np.arange(rows * width).reshape(rows, width)


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


class Derived(np.ndarray):
    pass


class Answer:
    """An object that is a number where one is wanted, or raises."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> int:
        if self.value is None:
            raise ZeroDivisionError("no number")
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.__index__())


TAKEN: list[tuple[str, tuple[Any, ...]]] = [
    ("difference", (5, 3)),
    ("difference", (LEAST, 0)),
    ("difference", (MOST, -0)),
    ("difference", (-1, -1)),  # what says in C that there is none
    ("difference", (0, 1)),
    ("difference", (True, False)),
    ("difference", (np.int32(5), np.uint8(3))),
    ("difference", (np.int64(LEAST + 7), np.uint64(7))),
    ("difference", (Answer(4), np.array(5))),
    ("halved", (3,)),
    ("halved", (-1.0,)),
    ("halved", (-2.0,)),
    ("halved", (np.float32(0.5),)),
    ("halved", (float("inf"),)),
    ("halved", (True,)),
    ("opposite", (True,)),
    ("opposite", (0,)),
    ("opposite", ("",)),
    ("opposite", (np.bool_(True),)),
    ("opposite", (Answer(0),)),
    ("nothing", ()),
    ("total", (words(1, 2, 4),)),
    ("total", (words(),)),
    ("total", (frozen(words(3, 4)),)),
    ("total", (np.arange(10)[2:5],)),
    ("total", (np.arange(10)[::2][:1],)),  # contiguous, whatever its strides are
    ("total", (np.arange(3, dtype=np.longlong),)),
    ("total", (np.arange(3).view(Derived),)),
    ("total", (np.arange(3).astype("<i8"),)),
    ("total_of_reals", (np.array([0.5, 0.25]),)),
    ("total_of_reals", (frozen(np.array([0.5])),)),
    ("corner", (table(2, 3),)),
    ("corner", (table(1, 1),)),
    ("corner", (table(0, 3),)),
    ("corner", (table(3, 0),)),
    ("corner", (np.arange(5).reshape(1, 5),)),
    ("product", (1, (words(1, 2), words(3, 4)), 2)),
    ("product", (1, (words(), frozen(words())), 2)),
    ("three", (7,)),
    ("three", (-1,)),
    ("counted", (5,)),
    ("counted", (0,)),
    ("two_tables", (3,)),
    ("halves", (5,)),
    ("given_and_made", (words(1, 2), 3)),
    ("part", (words(1, 2, 3, 4), 1, 3)),
    ("part", (words(1, 2, 3, 4), 0, 3)),
    ("part", (words(1, 2, 3, 4), 2, 2)),
    ("part_of_column", (frozen(words(1, 2, 3, 4)), 2, 4)),
    ("rows", (table(3, 2), 1, 3)),
    ("rows", (table(3, 2), 0, 1)),
    ("checked", (words(1, 2), 0)),
    ("from_within", (3, words(1, 2), 7)),
]

COLUMN_SAID = ("tests.shm.kernels.making.samples.total", "argument 1", "contiguous", "int64", "1 dimension")
WORDS_SAID = ("samples.fill", "argument 1", "contiguous", "writable", "int64", "1 dimension")
TABLE_SAID = ("samples.corner", "argument 1", "contiguous", "writable", "int64", "2 dimension")
REALS_SAID = ("samples.total_of_reals", "argument 1", "contiguous", "float64", "1 dimension")
TUPLE_SAID = ("samples.product", "argument 2", "tuple of 2")
PART_SAID = ("samples.product", "argument 2", "contiguous", "int64", "1 dimension")

REFUSED: list[tuple[str, tuple[Any, ...], type[Exception], Fact]] = [
    ("difference", (), TypeError, ("samples.difference", "2 arguments", "0")),
    ("difference", (1,), TypeError, ("samples.difference", "2 arguments", "1")),
    ("difference", (1, 2, 3), TypeError, ("samples.difference", "2 arguments", "3")),
    ("nothing", (1,), TypeError, ("samples.nothing", "0 arguments", "1")),
    ("difference", (MOST + 1, 1), OverflowError, "too big"),
    ("difference", (1, LEAST - 1), OverflowError, "too big"),
    ("difference", (np.uint64(MOST + 1), 1), OverflowError, "too big"),
    ("difference", (5.0, 1), TypeError, ("'float'", "integer")),
    ("difference", (1, np.float64(5)), TypeError, ("'numpy.float64'", "integer")),
    ("difference", ("5", 1), TypeError, ("'str'", "integer")),
    ("difference", (None, 1), TypeError, ("'NoneType'", "integer")),
    ("difference", (1, words(5)), TypeError, "integer scalar"),
    ("difference", (Answer(None), 1), ZeroDivisionError, "no number"),
    ("halved", ("3",), TypeError, ("real number", "str")),
    ("halved", (10**400,), OverflowError, "too large"),
    ("opposite", (words(1, 2),), ValueError, "truth value of an array"),
    ("opposite", (Answer(None),), ZeroDivisionError, "no number"),
    ("total", (None,), TypeError, COLUMN_SAID),
    ("total", (5,), TypeError, COLUMN_SAID),
    ("total", ([1, 2],), TypeError, COLUMN_SAID),
    ("total", (memoryview(words(1, 2)),), TypeError, COLUMN_SAID),
    ("total", (np.int64(5),), TypeError, COLUMN_SAID),
    ("total", (np.array(5),), TypeError, COLUMN_SAID),
    ("total", (table(2, 3),), TypeError, COLUMN_SAID),
    ("total", (np.arange(10)[::2],), TypeError, COLUMN_SAID),
    ("total", (np.arange(10)[::-1],), TypeError, COLUMN_SAID),
    ("total", (np.arange(3, dtype=np.int32),), TypeError, COLUMN_SAID),
    ("total", (np.arange(3, dtype=np.uint64),), TypeError, COLUMN_SAID),
    ("total", (np.arange(3, dtype=np.float64),), TypeError, COLUMN_SAID),
    ("total", (np.arange(3).astype(">i8"),), TypeError, COLUMN_SAID),
    ("total", (np.arange(3).view("m8[ns]"),), TypeError, COLUMN_SAID),
    ("total", (np.zeros(3, [("value", "i8")]),), TypeError, COLUMN_SAID),
    ("total", (np.array([None, 1]),), TypeError, COLUMN_SAID),
    ("total", (np.frombuffer(bytes(17), np.uint8)[1:].view(np.int64),), TypeError, COLUMN_SAID),  # not aligned
    ("total_of_reals", (words(1),), TypeError, REALS_SAID),
    ("total_of_reals", (np.zeros(3, np.float32),), TypeError, REALS_SAID),
    ("total_of_reals", (np.zeros(3, ">f8"),), TypeError, REALS_SAID),
    ("fill", (frozen(words(1)), 1), TypeError, WORDS_SAID),
    ("fill", (np.broadcast_to(words(1), 3), 1), TypeError, WORDS_SAID),
    ("fill", (words(1), "1"), TypeError, ("'str'", "integer")),
    ("halve", (table(2, 2),), TypeError, ("samples.halve", "argument 1", "writable", "float64", "2 dimension")),
    ("corner", (words(1),), TypeError, TABLE_SAID),
    ("corner", (np.zeros((1, 1, 1), np.int64),), TypeError, TABLE_SAID),
    ("corner", (table(2, 3).T,), TypeError, TABLE_SAID),
    ("corner", (table(4, 3)[::2],), TypeError, TABLE_SAID),
    ("corner", (table(4, 3)[:, :2],), TypeError, TABLE_SAID),
    ("corner", (frozen(table(4, 3)),), TypeError, TABLE_SAID),
    ("product", (1, (words(1),), 2), TypeError, TUPLE_SAID),
    ("product", (1, (words(1),) * 3, 2), TypeError, TUPLE_SAID),
    ("product", (1, (), 2), TypeError, TUPLE_SAID),
    ("product", (1, [words(1), words(1)], 2), TypeError, TUPLE_SAID),
    ("product", (1, words(1, 2), 2), TypeError, TUPLE_SAID),
    ("product", (1, None, 2), TypeError, TUPLE_SAID),
    ("product", (1, (words(1), 5), 2), TypeError, PART_SAID),
    ("product", (1, (words(1), np.zeros(1)), 2), TypeError, PART_SAID),
    ("product", (1, (np.arange(4)[::2], words(1)), 2), TypeError, PART_SAID),
    ("product", (1, (words(1), words(1)), 2.0), TypeError, ("'float'", "integer")),
    ("checked", (words(1), 1), MemoryError, "there is no room"),
    ("checked", (words(1), 2), ValueError, 'that\'s 100 %s, \\ and "quoted"'),
    ("checked", (words(1), 3), KeyError, "''"),
    ("counted", (-1,), ValueError, "negative dimensions"),
    ("counted", (1 << 58,), MemoryError, "Allocation"),
    ("from_within", (-1, words(1), 7), ValueError, "negative dimensions"),
]
