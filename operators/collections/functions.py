"""Reductions by Python functions: of a key's rows others, at each time at which these may have changed."""

from collections import Counter
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from tokenring.engine import Batch, MultiplicityOverflowError, Schema
from tokenring.engine.times import NestedTime, less_equal
from tokenring.operators.collections.reduction import Asked, KeyFaults
from tokenring.operators.collections.trace import batch_of
from tokenring.operators.collections.updates import NEGATIVE, TOO_MANY, Sealed
from tokenring.operators.collections.words import Entering, key_in_words

Function = Callable[[Batch, np.ndarray], Mapping[str, Any] | Batch | None]


class ByFunction:
    """What changes, by a function of a key's rows. data: the schema of rows, whose first columns are the key; made: of
    what the function makes; faults: who hears of keys that it fails at."""

    def __init__(
        self, name: str, function: Function, data: Schema, keys: int, made: Schema, faults: KeyFaults
    ) -> None:
        self._name, self._function, self._data, self._made, self._faults = name, function, data, made, faults
        self._key = data.select(data.names[:keys])
        self._entering = Entering(name, made)
        kinds = data.kinds[keys:]
        self._is_in_order = all([kind.dtype == np.int64 and not kind.nullable and not kind.is_text for kind in kinds])

    def __call__(self, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
        """See Changes."""
        changes: list[tuple[int, ...]] = []
        later: list[tuple[int, ...]] = []
        for number in range(asked.keys.shape[1]):
            self._look_at(asked, number, changes, later)
        width = len(asked.keys) + len(asked.before)
        return _table(changes, width), _table(later, len(asked.keys) + asked.times.shape[1] + 1)

    def _look_at(
        self, asked: Asked, number: int, changes: list[tuple[int, ...]], later: list[tuple[int, ...]]
    ) -> None:
        """Append how one key's output changes, and its times that are not finished."""
        depth, key = asked.times.shape[1], tuple(asked.keys[:, number].tolist())
        rows = asked.rows[:, asked.bounds[number] : asked.bounds[number + 1]]
        before = asked.before[:, asked.before_bounds[number] : asked.before_bounds[number + 1]]
        made = [(tuple(time), tuple(words), times) for *words, time, times in _with_times(before, depth)]
        moved = {tuple(time) for part in (rows, before) for time in part[-depth - 1 : -1].T.tolist()}
        frontier: list[NestedTime] = [tuple(element) for element in asked.frontier.tolist()]
        times: list[NestedTime] = [
            tuple(time) for time in asked.times[asked.time_bounds[number] : asked.time_bounds[number + 1]].tolist()
        ]
        heapify(times)
        known, seen = set(times), []
        while times:
            time = heappop(times)
            seen.append(time)
            if any([less_equal(element, time) for element in frontier]):
                later.append((*key, *time, 1))
                continue
            if depth > 1:
                for other in (*moved, *seen):
                    bound = tuple(map(max, time, other))
                    if bound not in known:
                        known.add(bound)
                        heappush(times, bound)
            there, error = self._rows_at(asked.keys[:, number], rows, time)
            if error is not None or self._faults.are_there:
                self._faults.tell(asked.keys[:, number], time, error)
            for when, words, count in made:
                if less_equal(when, time):
                    there[words] -= count
            for words, count in there.items():
                if count:
                    made.append((time, words, count))
                    changes.append((*key, *words, *time, count))

    def _rows_at(
        self, key: np.ndarray, rows: np.ndarray, time: NestedTime
    ) -> tuple[Counter[tuple[int, ...]], Exception | None]:
        """What the function makes of the rows that are there at a time, and how often; or why it makes nothing."""
        values = len(rows) - len(time) - 1
        is_there = (rows[values:-1] <= np.array(time)[:, None]).all(axis=0)
        try:
            net = Sealed.of(np.ascontiguousarray(rows[[*range(values), -1]][:, is_there]), 0).words
        except MultiplicityOverflowError:
            return Counter(), self._faults.wrong(TOO_MANY, key, time)
        if (net[-1] < 0).any():
            return Counter(), self._faults.wrong(NEGATIVE, key, time)
        if not net.shape[1]:
            return Counter(), None
        table = np.concatenate([np.repeat(key[:, None], net.shape[1], axis=1), net[:-1]])
        batch, times = batch_of(self._data, np.ascontiguousarray(table)), net[-1].copy()
        if not self._is_in_order:
            order = self._by_value(batch)
            batch, times = batch.take(order), times[order]
        try:
            found = self._function(batch, times)
            if found is None:
                return Counter(), None
            words = self._entering.table_of(found if isinstance(found, Batch) else Batch(self._made, found))
        except Exception as error:
            at = time if len(time) > 1 else time[0]
            failed = ValueError(
                f"operator {self._name!r}: the function failed for {key_in_words(self._key, key)} at {at}: "
                f"{type(error).__name__}: {error}"
            )
            failed.__cause__ = error
            return Counter(), failed
        return Counter([tuple(row) for row in words.T.tolist()]), None

    def _by_value(self, batch: Batch) -> np.ndarray:
        """The order of rows by what they hold, null last, and NaN before it."""
        columns: list[Any] = []
        for name in self._data.names[len(self._key) :]:
            seen: Any = batch[name]
            nulls = self._data.kind(name).nulls(batch.words(name))
            columns.append(
                [(is_null, value != value, None if is_null or value != value else value)
                 for is_null, value in zip(nulls.tolist(), seen.tolist(), strict=True)]
            )  # fmt: skip
        rows = list(zip(*columns, strict=True))
        return np.array(sorted(range(batch.rows), key=lambda row: rows[row]), np.int64)


def _with_times(table: np.ndarray, depth: int) -> list[Any]:
    """Rows of a table as (words, time, multiplicity)."""
    return [(*row[: -depth - 1], tuple(row[-depth - 1 : -1]), row[-1]) for row in table.T.tolist()]


def _table(rows: list[tuple[int, ...]], columns: int) -> np.ndarray:
    """Rows as an int64 table of so many columns."""
    return np.ascontiguousarray(np.array(rows, np.int64).reshape(len(rows), columns).T)
