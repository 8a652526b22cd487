"""A small explicit-state model checker: explores every interleaving of a protocol's atomic steps, breadth first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any


class Found(AssertionError):
    """A state that must not be; the text ends with the shortest way there."""


@dataclass(frozen=True)
class Explored:
    """What an exhaustive search saw."""

    states: int
    steps: int
    ends: int


State = Any
Successors = Callable[[State], Iterable[tuple[str, State]]]


def explore(
    start: Hashable,
    successors: Successors,
    invariant: Callable[[State], str],
    at_end: Callable[[State], str],
    resting: Callable[[State], bool] = lambda state: False,
) -> Explored:
    """Visit every reachable state, and see that an end can be reached from each.

    `successors(state)` gives (label, state) of each step possible now. An end is a state without a step, or one that
    `resting(state)` knows: what is left are attempts that lead nowhere. `invariant(state)` and, for ends,
    `at_end(state)` name what is wrong, or return "". Raises Found with the shortest trace.
    """
    numbers: dict[Hashable, int] = {start: 0}
    came_from: list[tuple[int, str]] = [(0, "")]  # of each state by its number, in the order of discovery
    before: list[list[int]] = [[]]
    queue = deque([start])
    ends: list[int] = []
    steps = 0
    for number in count():
        if not queue:
            break
        state = queue.popleft()
        wrong = invariant(state)
        possible = list(successors(state))
        if not possible or resting(state):
            ends.append(number)
            wrong = wrong or at_end(state)
        if wrong:
            raise Found(f"{wrong}\n{_trace(came_from, number)}")
        steps += len(possible)
        for label, following in possible:
            new = len(before)
            known = numbers.setdefault(following, new)
            if known == new:
                came_from.append((number, label))
                before.append([number])
                queue.append(following)
            else:
                before[known].append(number)
    _require_ends(came_from, before, ends)
    return Explored(len(before), steps, len(ends))


def _require_ends(came_from: list[tuple[int, str]], before: list[list[int]], ends: list[int]) -> None:
    good, worklist = set(ends), list(ends)
    while worklist:
        for number in before[worklist.pop()]:
            if number not in good:
                good.add(number)
                worklist.append(number)
    for number in range(len(before)):  # in the order of discovery: the first has the shortest trace
        if number not in good:
            raise Found(f"from here no end can be reached\n{_trace(came_from, number)}")


def _trace(came_from: list[tuple[int, str]], number: int) -> str:
    labels = []
    while number:
        number, label = came_from[number]
        labels.append(f"  {label}")
    return "\n".join(labels[::-1])
