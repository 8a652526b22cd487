"""Intervals of numbers, taken and given back, lowest first: who does so in the same order gets the same numbers."""

from bisect import bisect


class Intervals:
    """Numbers from 0 on. A search looks at every free interval; of these there is at most one more than of taken ones.
    """

    def __init__(self) -> None:
        self.used = 0
        """One more than the greatest number that was ever taken."""
        self._free: list[tuple[int, int]] = []  # (first, behind the last), in order; no two touch

    def take(self, count: int) -> int:
        """The first of `count` numbers in a row, all free until now."""
        for at, (first, end) in enumerate(self._free):
            if end - first > count:
                self._free[at] = (first + count, end)
                return first
            if end - first == count:
                del self._free[at]
                return first
        first = self.used
        self.used += count
        return first

    def give_back(self, first: int, count: int) -> None:
        """Let numbers that were taken be taken again."""
        end = first + count
        at = bisect(self._free, (first, end))
        if at < len(self._free) and self._free[at][0] == end:
            end = self._free.pop(at)[1]
        if at and self._free[at - 1][1] == first:
            at -= 1
            first = self._free.pop(at)[0]
        self._free.insert(at, (first, end))
