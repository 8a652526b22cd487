"""Antichains: sets of mutually incomparable elements, of which frontiers are made."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from tokenring.engine.times.timestamp import COMPLETE

T = TypeVar("T")


def _default_order(left: Any, right: Any) -> bool:
    return bool(left <= right)


class Antichain(Generic[T]):
    """Minimal elements under a partial order `less_equal` (default `<=`). `insert` keeps only minimal ones.

    As a frontier in a loop it is compared with times as the integer of the root scope is: `time < frontier` where a
    time is finished, `frontier == COMPLETE` where nothing can come. So an operator may be written once for both.
    """

    def __init__(self, elements: Iterable[T] = (), less_equal: Callable[[T, T], bool] = _default_order) -> None:
        self._less_equal = less_equal
        self._elements: list[T] = []
        for element in elements:
            self.insert(element)

    @classmethod
    def of_incomparable(cls, elements: list[T], less_equal: Callable[[T, T], bool] = _default_order) -> Self:
        """An antichain of elements that are known to be one; the list is its own from now on."""
        self = cls.__new__(cls)
        self._less_equal = less_equal
        self._elements = elements
        return self

    def insert(self, element: T) -> bool:
        """Add `element` unless one is already less or equal; drop those it makes redundant. True if it was added."""
        if self.less_equal(element):
            return False
        self._elements = [kept for kept in self._elements if not self._less_equal(element, kept)]
        self._elements.append(element)
        return True

    def less_equal(self, element: T) -> bool:
        """Whether some member is less than or equal to `element`."""
        return any(self._less_equal(kept, element) for kept in self._elements)

    def less_than(self, element: T) -> bool:
        """Whether some member is strictly less than `element`."""
        return any(self._less_equal(kept, element) and kept != element for kept in self._elements)

    def __iter__(self) -> Iterator[T]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Antichain):
            return not self._elements if other == COMPLETE else NotImplemented
        return len(self) == len(other) and all(element in other._elements for element in self._elements)

    def __hash__(self) -> int:
        """Of the elements as they are now: put into sets what changes no more."""
        return hash(frozenset(self._elements)) if self._elements else hash(COMPLETE)

    def __gt__(self, time: Any) -> bool:
        """`time < frontier`, as in the root scope, where a frontier is an integer: whether the time is finished."""
        return NotImplemented if isinstance(time, Antichain) else not self.less_equal(time)

    def __ge__(self, time: Any) -> bool:
        """`time <= frontier`: whether everything before the time is finished."""
        return NotImplemented if isinstance(time, Antichain) else not self.less_than(time)

    def __le__(self, time: Any) -> bool:
        """`frontier <= time`: whether the time may still come."""
        return NotImplemented if isinstance(time, Antichain) else self.less_equal(time)

    def __lt__(self, time: Any) -> bool:
        """`frontier < time`: whether something before the time may still come."""
        return NotImplemented if isinstance(time, Antichain) else self.less_than(time)

    def __repr__(self) -> str:
        return f"Antichain({self._elements!r})"

    def check(self) -> None:
        """Raise AssertionError if two members are comparable."""
        for i, left in enumerate(self._elements):
            for right in self._elements[i + 1 :]:
                assert not self._less_equal(left, right) and not self._less_equal(right, left), (left, right)
