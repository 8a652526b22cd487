"""Accumulators: a worker's state of aggregates by slot; rows fold into it, results come out of it."""

from typing import Any

import numpy as np

from tokenring.engine import Batch, Kind, Schema
from tokenring.engine.compiled import Entry
from tokenring.operators.folds.called import Job, take_argument, takes_of
from tokenring.operators.folds.distinct_values import DistinctValues, sets_of
from tokenring.operators.folds.functions import FINISHED, KEPT, Fold, Result
from tokenring.operators.folds.kernels import (
    CALLED,
    COUNT,
    DISTINCT,
    MAX_FLOAT,
    MIN_FLOAT,
    PART,
    SUM,
    SUM_FLOAT,
    SUM_UNSIGNED,
    fold_floats,
    fold_inside,
    fold_order,
    fold_runs,
    fold_words,
)
from tokenring.operators.folds.plan import Plan
from tokenring.operators.state import LEAST, HeapedColumns, Keys, RowStore, grown, joined

_NO_WORDS = np.zeros(0, np.int64)
_FLOATS = (SUM_FLOAT, MIN_FLOAT, MAX_FLOAT)


class Accumulators:
    """State int64 (slots, words), a word for each fold: a slot's are 1, 2, 4 or 8 words, or lines of 8. `reset` fresh
    slots, then `take` rows; `results` and `partials` read."""

    __slots__ = (
        *("_arrived", "_asked", "_folded", "_held", "_initial", "_kept", "_kinds", "_plan", "_quick", "_sets"),
        "_state",
    )

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        folds = plan.folds
        self._initial = np.zeros(_width(len(folds)), np.int64)
        self._initial[: len(folds)] = [fold.initial for fold in folds]
        self._state = np.empty((64, len(self._initial)), np.int64)
        self._kinds: list[Kind | None] = [
            None if fold.column is None else plan.schema.kind(fold.column) for fold in folds
        ]
        self._folded = [(at, fold) for at, fold in enumerate(folds) if fold.operation != PART]
        self._asked = [
            (fold.where, *[name for name in fold.columns if plan.schema.kind(name).nullable]) for fold in folds
        ]
        self._kept: list[RowStore | None] = [
            RowStore(plan.schema.select((fold.column or "",))) if fold.keeps_rows else None for fold in folds
        ]
        self._sets = sets_of(plan)
        self._held = np.zeros(64 if any(fold.keeps_rows for fold in folds) else 0, np.int64)
        self._arrived = 0  # rows taken so far: the order of arrival
        self._quick = all(
            fold.where is None
            and (kind is None or not kind.nullable)
            and fold.operation not in (*_FLOATS, SUM_UNSIGNED, DISTINCT, CALLED, PART)
            and not fold.keeps_rows
            and not fold.flip
            for fold, kind in zip(folds, self._kinds, strict=True)
        )

    def reset(self, slots: np.ndarray, limit: int) -> None:
        """Slots start anew: int64 (n,), all below `limit`."""
        self.reserve(limit)
        self._state[slots] = self._initial

    def reserve(self, limit: int) -> None:
        """Make room for slots below `limit`."""
        if len(self._state) < limit:
            self._state = grown(self._state, limit, None, axis=0)
            self._held = grown(self._held, limit) if len(self._held) else self._held

    @property
    def table(self) -> np.ndarray:
        """The words of state, int64 (slots, words), until the next `reserve`."""
        return self._state

    @property
    def kept(self) -> dict[int, np.ndarray]:
        """By the number of a fold that keeps values, of words: those by slot, int64, until the next call."""
        limit = len(self._state)
        return {at: store.reserve(limit)[0] for at, store in enumerate(self._kept) if store is not None}

    def drop(self, slots: np.ndarray) -> None:
        """Slots whose state is not needed any more."""
        for store in self._kept:
            if store is not None:
                store.drop(slots)
        for values, _, _ in self._sets:
            values.drop(slots)

    def take(self, batch: Batch, slots: np.ndarray) -> None:
        """Fold rows into their slots, int64 (rows,). OverflowError if a sum leaves its range."""
        masks: dict[tuple[Any, ...], np.ndarray | None] = {}
        chosen = {}
        for at, fold in self._folded:
            asked = self._asked[at]
            if asked not in masks:
                masks[asked] = fold.mask(batch)
            chosen[at] = masks[asked]
            if fold.operation != DISTINCT:
                self._fold(at, fold, batch, slots, masks[asked])
        for values, column, numbers in self._sets:
            position = batch.schema.positions[column]
            heap = batch.heaps[position] if batch.heaps else None
            new = values.add(slots, batch.columns[position], heap, [chosen[at] for at in numbers])
            self.count(numbers, new)
        self._arrived += batch.rows

    def _fold(self, at: int, fold: Fold, batch: Batch, slots: np.ndarray, mask: np.ndarray | None) -> None:
        state = self._state
        if fold.keeps_rows:
            self._keep(at, fold, batch, slots, mask)
            return
        if fold.functions is not None:
            self._call(at, fold, batch, slots, mask)
            return
        if mask is not None:
            slots = slots[mask]
        if fold.operation == COUNT:
            fold_words(COUNT, slots, _NO_WORDS, state, at)
            return
        assert fold.column is not None
        position = batch.schema.positions[fold.column]
        values = batch.columns[position]
        if mask is not None:
            values = values[mask]
        if fold.operation in _FLOATS:
            fold_floats(fold.operation, slots, values.view(np.float64), state.view(np.float64), at)
        else:
            values = values.view(np.int64)
            if not fold_words(fold.operation, slots, values ^ LEAST if fold.flip else values, state, at):
                raise self.wrong(at)

    def _call(self, at: int, fold: Fold, batch: Batch, slots: np.ndarray, mask: np.ndarray | None) -> None:
        """Fold rows by functions."""
        functions = fold.functions
        assert functions is not None
        if fold.are_states:
            states = np.stack([batch.words(f"#{at + part}") for part in range(functions.width)], axis=1)
            job = Job(self._state, at, slots).with_others(states, 0, np.arange(len(slots)))
            self._run(at, functions.combine, job, len(slots))
            return
        slots = slots if mask is None else slots[mask]
        arguments = []
        for name, taken in zip(fold.columns, functions.takes, strict=True):
            words = batch.words(name).view(np.int64)
            words = words if mask is None else words[mask]
            arguments.append(np.empty(len(slots), np.int64))
            take_argument(takes_of(taken, batch.schema.kind(name)), words, arguments[-1])
        job = Job(self._state, at, slots).with_arguments(arguments)
        self._run(at, functions.update, job, len(slots))

    def _run(self, at: int, function: Entry | None, job: Job, rows: int) -> None:
        assert function is not None
        if not job.is_done_by(function, rows):
            raise self.wrong(at)

    def _keep(self, at: int, fold: Fold, batch: Batch, slots: np.ndarray, mask: np.ndarray | None) -> None:
        store = self._kept[at]
        assert store is not None
        if fold.order is None:
            orders = np.arange(self._arrived, self._arrived + batch.rows)
        else:
            orders = batch.words(fold.order)
        rows = None if mask is None else np.flatnonzero(mask)
        if rows is not None:
            slots, orders = slots[rows], orders[rows]
        winners = np.empty(2 * len(slots), np.int64)
        found = fold_order(fold.operation, slots, orders, self._state, at, self._held, winners)
        taken = winners[len(slots) : len(slots) + found]
        store.put(winners[:found], batch.select(store.schema), taken if rows is None else rows[taken])

    @property
    def quick(self) -> bool:
        """Whether `take_runs` is possible."""
        return self._quick

    def take_runs(self, batch: Batch, runs: int, starts: np.ndarray, slots: np.ndarray) -> None:
        """Fold `runs` runs of rows, from starts[r] to starts[r + 1] - 1, each into one slot: int64 (runs + 1,), (runs,)
        or longer."""
        columns, positions = batch.columns, batch.schema.positions
        for at, fold in enumerate(self._plan.folds):
            values = _NO_WORDS if fold.column is None else columns[positions[fold.column]]
            if not fold_runs(fold.operation, runs, starts, slots, values, self._state, at):
                raise self.wrong(at)

    def take_inside(self, batch: Batch, times: np.ndarray, start: int, end: int, slot: int) -> int:
        """Fold the first rows into one slot, as far as their times are seen to be in start .. end - 1 (most are in the
        pane of those before them: one call looks and folds); returns how many."""
        columns, positions = batch.columns, batch.schema.positions
        folded = 0
        for at, fold in enumerate(self._plan.folds):
            values = _NO_WORDS if fold.column is None else columns[positions[fold.column]]
            if at == 0:
                folded = fold_inside(times, start, end, fold.operation, values, self._state, slot)
                ok = folded >= 0
                if folded == 0:
                    break
            else:
                ok = fold_runs(fold.operation, 1, np.array([0, folded]), np.array([slot]), values, self._state, at)
            if not ok:
                raise self.wrong(at)
        return folded

    def merge(self, other: "Accumulators", source: np.ndarray, target: np.ndarray) -> None:
        """Fold slots of another one of the same plan into slots of this one: both int64 (n,)."""
        for at, fold in self._folded:
            state, words = self._state, other._state[source, at]
            if fold.functions is not None:
                job = Job(state, at, target).with_others(other._state, at, source)
                self._run(at, fold.functions.combine, job, len(source))
            elif fold.keeps_rows:
                mine, theirs = self._kept[at], other._kept[at]
                assert mine is not None
                assert theirs is not None
                some = np.flatnonzero(words != fold.initial)  # slots that have a row
                winners = np.empty(2 * len(some), np.int64)
                found = fold_order(fold.operation, target[some], words[some], state, at, self._held, winners)
                taken = theirs.batch(source[some][winners[len(some) : len(some) + found]])
                mine.put(winners[:found], taken, np.arange(found))
            elif fold.operation == DISTINCT:
                continue  # below
            elif fold.operation in _FLOATS:
                fold_floats(fold.operation, target, words.view(np.float64), state.view(np.float64), at)
            elif not fold_words(SUM if fold.operation == COUNT else fold.operation, target, words, state, at):
                raise self.wrong(at)
        for (mine_set, _, numbers), (their_set, _, _) in zip(self._sets, other._sets, strict=True):
            self.count(numbers, mine_set.add_from(their_set, source, target))

    @property
    def reversible(self) -> bool:
        """Whether `take_away` undoes `merge`, exactly."""
        return all(
            fold.operation in (COUNT, SUM, SUM_UNSIGNED) or (fold.functions is not None and fold.functions.retract)
            for fold in self._plan.folds
        )

    def take_away(self, other: "Accumulators", source: np.ndarray, target: np.ndarray) -> None:
        """Undo a merge; all of `target` are different."""
        for at, fold in self._folded:
            if fold.functions is None:
                self._state[target, at] -= other._state[source, at]
            else:
                job = Job(self._state, at, target).with_others(other._state, at, source)
                self._run(at, fold.functions.retract, job, len(source))

    def results(self, slots: np.ndarray) -> HeapedColumns:
        """The results' columns and heaps for slots, int64 (n,)."""
        columns, heaps = [], []

        def words(number: int) -> np.ndarray:
            return self._state[slots, number]

        for result in self._plan.results:
            heap = None
            if result.how == KEPT:
                column, heap = self._value(result.fold, slots)
            elif result.how == FINISHED:
                column = self._finished(result, slots)
            else:
                column = result.words(words)
            columns.append(column)
            heaps.append(heap)
        return tuple(columns), tuple(heaps)

    def _finished(self, result: Result, slots: np.ndarray) -> np.ndarray:
        """What a function makes of the state of slots; null where it raised."""
        assert result.finish is not None
        made = np.full(len(slots), result.kind.null, np.int64)
        parameters = np.array(result.parameters, np.float64)
        job = Job(self._state, result.fold, slots).with_results(made, result.kind.null, parameters)
        if not job.is_done_by(result.finish.finalize, len(slots)):
            made[:] = result.kind.null
        return made.view(result.kind.dtype)

    def output(self, keys: Keys, slots: np.ndarray) -> tuple[HeapedColumns, int]:
        """The rows of a result: the keys' last columns, as many as the plan groups by, and the results."""
        named = len(self._plan.by)
        results = self.results(slots)
        if named:
            columns, heaps = keys.columns(slots)
            results = joined((columns[-named:], heaps[-named:]), results)
        return results, len(slots)

    def partials(self, slots: np.ndarray) -> HeapedColumns:
        """The state itself, as `Plan.partial_kinds` has it."""
        columns: list[np.ndarray] = []
        heaps: list[np.ndarray | None] = []
        for at, fold in enumerate(self._plan.folds):
            columns.append(self._state[slots, at])
            heaps.append(None)
            if fold.keeps_rows:
                column, heap = self._value(at, slots)
                columns.append(column)
                heaps.append(heap)
        return tuple(columns), tuple(heaps)

    def put(self, slots: np.ndarray, partials: Batch) -> None:
        """Let slots be what `partials`, by the names of `Plan.partial_kinds`, were elsewhere; but what counts different
        values is 0, until these come."""
        for at, fold in enumerate(self._plan.folds):
            words = partials.words(f"#{at}")
            self._state[slots, at] = fold.initial if fold.operation == DISTINCT else words
            store, some = self._kept[at], np.flatnonzero(words != fold.initial)
            if store is not None and len(some):
                name = f"#{at}.value"
                value = Schema.of({name: str(partials.schema.kind(name))})
                store.put(slots[some], partials.select(value), some)
                if fold.order is None:
                    self._arrived = max(self._arrived, int(words[some].max()) + 1)

    @property
    def arrived(self) -> int:
        """Rows that come from now on are later than so many, by which they are told apart without an order."""
        return self._arrived

    @property
    def sets(self) -> list[tuple[DistinctValues, list[int]]]:
        """The sets of different values, and the folds that count what is new in each."""
        return [(values, numbers) for values, _, numbers in self._sets]

    def count(self, numbers: list[int], new: list[np.ndarray]) -> None:
        """Values are new to the sets of these folds: the slots of each."""
        for at, slots in zip(numbers, new, strict=True):
            fold_words(COUNT, slots, _NO_WORDS, self._state, at)

    def _value(self, at: int, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """What fold `at` keeps at slots; null where that is nothing."""
        store, fold, kind = self._kept[at], self._plan.folds[at], self._kinds[at]
        assert store is not None
        assert kind is not None
        empty = self._state[slots, at] == fold.initial
        words, heap = store.column(0, np.where(empty, 0, slots) if empty.any() else slots)
        if empty.any():
            words = words.view(np.int64).copy()
            words[empty] = kind.null
            words = words.view(kind.dtype)
        return words, heap

    def wrong(self, at: int) -> Exception:
        """The error for fold number `at`: a sum that left its range, or a function that raised."""
        fold = self._plan.folds[at]
        column = fold.stands_for or fold.column
        if fold.functions is not None:
            return ValueError(
                f"operator {self._plan.operator!r}: a function of {fold.functions.name} of {column!r} raised; what a "
                f"compiled function says is lost: let it keep in its state that it cannot go on"
            )
        return OverflowError(
            f"operator {self._plan.operator!r}: a sum of {column!r} left the range of 64 bits; "
            f"make the column float64, or divide it first"
        )


def _width(folds: int) -> int:
    """How many words a slot has: it is in no more cache lines than it needs."""
    return -(-folds // 8) * 8 if folds > 4 else (1, 1, 2, 4, 4)[folds]
