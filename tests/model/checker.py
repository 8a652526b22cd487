"""A small explicit-state model checker: explores every interleaving of a protocol's atomic steps, breadth first."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
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
    came_from: dict[Hashable, tuple[Hashable, str] | None] = {start: None}
    before: defaultdict[Hashable, list[Hashable]] = defaultdict(list)
    queue = deque([start])
    ends: list[Hashable] = []
    steps = 0
    while queue:
        state = queue.popleft()
        wrong = invariant(state)
        possible = list(successors(state))
        if not possible or resting(state):
            ends.append(state)
            wrong = wrong or at_end(state)
        if wrong:
            raise Found(f"{wrong}\n" + "\n".join(f"  {label}" for label in _trace(came_from, state)))
        steps += len(possible)
        for label, following in possible:
            before[following].append(state)
            if following not in came_from:
                came_from[following] = (state, label)
                queue.append(following)
    _require_ends(came_from, before, ends)
    return Explored(len(came_from), steps, len(ends))


def _require_ends(
    came_from: dict[Hashable, tuple[Hashable, str] | None], before: dict[Hashable, list[Hashable]], ends: list[Hashable]
) -> None:
    good, worklist = set(ends), list(ends)
    while worklist:
        for state in before.get(worklist.pop(), ()):
            if state not in good:
                good.add(state)
                worklist.append(state)
    for state in came_from:  # in the order of discovery: the first has the shortest trace
        if state not in good:
            raise Found(
                "from here no end can be reached\n" + "\n".join(f"  {label}" for label in _trace(came_from, state))
            )


def _trace(came_from: dict[Hashable, tuple[Hashable, str] | None], state: Hashable) -> list[str]:
    labels = []
    while (step := came_from[state]) is not None:
        state, label = step
        labels.append(label)
    return labels[::-1]
