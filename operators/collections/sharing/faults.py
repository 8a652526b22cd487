"""What operators failed at, by time: rows, as often as they are there, and keys, from a time on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import le
from typing import NamedTuple

Place = tuple[str, int]
"""Where something failed: ("stage" or "operator", its number in the graph)."""
_Row = tuple[Place, str, str]
"""What an operator failed at: where, what it is called, and the row. Why may be said otherwise when the row is taken
away again, as by a function that counts its calls: of all that was said, the least is told."""
_MANY = 1_000  # changes, before those are added up that can no longer be told apart


class Fault(NamedTuple):
    """What an operator failed at: a row, or a key, as text; and why, "" of a key that is as it may be."""

    operator: str
    row: str
    error: str


class Change(NamedTuple):
    """A fault is there so much more often from a time on; or, with times = 0, is what is said of its key from then on.
    time: its coordinates, of which those of a loop come behind the root's."""

    kind: str
    number: int
    fault: Fault
    time: Sequence[int]
    times: int


class Ledger:
    """Faults of one dataflow, as one worker has them."""

    def __init__(self) -> None:
        self._rows: dict[_Row, tuple[str, Counter[int]]] = {}
        self._keys: dict[Place, dict[str, dict[tuple[int, ...], Fault]]] = {}
        self._added, self._most = 0, _MANY

    def add(self, changes: Iterable[Change]) -> None:
        """Take changes in."""
        for change in changes:
            self._added += 1
            place = (change.kind, change.number)
            if change.times:
                operator, row, error = change.fault
                said, times = self._rows.get((place, operator, row), (error, Counter()))
                times[change.time[0]] += change.times
                self._rows[place, operator, row] = min(said, error), times
            elif change.fault.error or change.fault.row in self._keys.get(place, ()):
                of_key = self._keys.setdefault(place, {}).setdefault(change.fault.row, {})
                of_key[tuple(change.time)] = change.fault

    @property
    def is_long(self) -> bool:
        """Whether so much was taken in that it is worth to forget what cancels out."""
        return self._added > self._most

    def forget(self, since: int) -> None:
        """Take what was before a time for what was then."""
        rows: dict[_Row, tuple[str, Counter[int]]] = {}
        for of_row, (error, changes) in self._rows.items():
            left = Counter({time: times for time, times in changes.items() if time > since and times})
            left[since] += sum([times for time, times in changes.items() if time <= since])
            if any(left.values()):
                rows[of_row] = error, left
        keys: dict[Place, dict[str, dict[tuple[int, ...], Fault]]] = {}
        for place, key, said in self._said():
            last = {time[1:]: time for time in sorted(said) if time[0] <= since}  # of each round
            kept = {time: fault for time, fault in said.items() if time[0] > since or last[time[1:]] == time}
            if any([fault.error for fault in kept.values()]):
                keys.setdefault(place, {})[key] = kept
        self._rows, self._keys = rows, keys
        self._added = sum([len(times) for _, times in rows.values()]) + sum([len(said) for _, _, said in self._said()])
        self._most = max(_MANY, 2 * self._added)

    def changes(self) -> Iterator[Change]:
        """All that is kept."""
        for (place, operator, row), (error, times) in self._rows.items():
            fault = Fault(operator, row, error)
            yield from [Change(*place, fault, [time], count) for time, count in times.items() if count]
        for place, _, said in self._said():
            yield from [Change(*place, fault, list(time), 0) for time, fault in sorted(said.items())]

    def has_keys(self, place: Place) -> bool:
        """Whether there are keys with an error at a place, or with one before."""
        return place in self._keys

    def at(self, time: int, counts: Callable[[Place], bool]) -> Counter[Fault]:
        """How often what is there at a time, which is finished, of the places that count."""
        chosen = {place for place in {*self._keys, *[place for place, *_ in self._rows]} if counts(place)}
        found: Counter[Fault] = Counter()
        for (place, operator, row), (error, changes) in self._rows.items():
            if place in chosen:
                found[Fault(operator, row, error)] += sum([times for when, times in changes.items() if when <= time])
        for place, _, said in self._said():
            if place in chosen:
                holding = {_said_at(said, time, round_) for _, *round_ in said}
                found.update([fault for fault in holding if fault is not None])
        return found

    def _said(self) -> Iterator[tuple[Place, str, dict[tuple[int, ...], Fault]]]:
        """What was said of each key, by time."""
        for place, keys in self._keys.items():
            yield from [(place, key, said) for key, said in keys.items()]


def _said_at(said: dict[tuple[int, ...], Fault], time: int, round_: Sequence[int]) -> Fault | None:
    """What holds of a key at a time, and in a loop in a round of it: as of all times before, those of least upper
    bounds among them, one is the last."""
    before = [when for when in said if when[0] <= time and all(map(le, when[1:], round_))]
    fault = said[max(before)] if before else None
    return fault if fault is not None and fault.error else None
