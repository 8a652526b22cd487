"""FoldState: one worker's state of aggregates by slot, and the tables that tell kernels what to fold, and where."""

import numpy as np

from tokenring.engine import Batch, Kind, Schema, SchemaError
from tokenring.engine.compiled import address_of, heap_of_words
from tokenring.operators.folds.called import SCRATCH_ROWS, Call, FoldJob, call_words, gave_no, made_also
from tokenring.operators.folds.fold_records import SET_SCRATCH_ROWS, FoldRow, Folds, ResultRow
from tokenring.operators.folds.functions import Fold, Result
from tokenring.operators.folds.kernels import BLOCK, CALLED, COUNT, DISTINCT, MAX, MIN, SUM, SUM_UNSIGNED
from tokenring.operators.folds.plan import Plan, counted_columns
from tokenring.operators.folds.sets import MOST_FLAGS, ValueSet, ValueSets
from tokenring.operators.state import FIRST_SLOTS, HeapedColumns, KeptTexts, grown, shared_scratch


def _fold_row(
    fold: Fold, schema: Schema, sets: dict[int, tuple[int, int]], number: int, call: int, texts: int
) -> tuple[int, ...]:
    kind = None if fold.column is None else schema.kind(fold.column)
    column = -1 if fold.column is None else schema.position(fold.column)
    where = -1 if fold.where is None else schema.position(fold.where)
    order = -1 if fold.order is None else schema.position(fold.order)
    nullable = kind is not None and kind.nullable
    null = 0 if kind is None else kind.null
    return (
        *(fold.operation, column, where, fold.flip, nullable, null, fold.initial),
        *(fold.keeps_rows, order),
        kind is not None and kind.null_is_a_number and not nullable,
        *sets.get(number, (-1, 0)),
        *(call, texts),
    )


def _result_row(result: Result, parameters: np.ndarray) -> tuple[int, ...]:
    finalize = 0 if result.finish is None else result.finish.finalize.address
    kind = result.kind
    return (
        *(result.how, result.fold, result.count, result.present, kind.null, kind.null_is_a_number, result.unit),
        *(finalize, parameters.ctypes.data, len(parameters), made_also(kind)),
    )


class FoldState:
    """State int64 (slots, words), a word for each fold: a slot's are 1, 2, 4 or 8 words, or lines of 8; beside it, by
    slot, the values that folds keep, and sets of different ones."""

    def __init__(self, plan: Plan, merges: bool = False) -> None:
        """merges: whether slots are merged into others, of this state or of another of the same plan."""
        self._plan = plan
        folds = plan.folds
        self._initial = np.zeros(_width(len(folds)), np.int64)
        self._initial[: len(folds)] = [fold.initial for fold in folds]
        self._words = np.empty((FIRST_SLOTS, len(self._initial)), np.int64)
        kinds = [None if fold.column is None else plan.schema.kind(fold.column) for fold in folds]
        self._kinds = kinds
        kept = [at for at, fold in enumerate(folds) if fold.keeps_rows]
        self._texts_of = [at for at in kept if (kind := kinds[at]) is not None and kind.is_text]
        self._kept = {at: np.zeros(FIRST_SLOTS, np.int64) for at in kept}
        self._texts = KeptTexts() if self._texts_of else None
        self.quick = all(map(_is_quick, folds, kinds))
        """Whether stretches of rows of one slot can be folded."""
        self.reversible = all(
            fold.operation in (COUNT, SUM, SUM_UNSIGNED)
            or (fold.functions is not None and fold.functions.retract is not None)
            for fold in folds
        )
        """Whether taking a slot away undoes merging it, exactly."""
        self._tell(plan, merges)

    def _tell(self, plan: Plan, merges: bool) -> None:
        """Make the tables that kernels read."""
        pieces = counted_columns(plan, MOST_FLAGS)
        flags = {
            number: (at, 1 << flag) for at, (_, numbers) in enumerate(pieces) for flag, number in enumerate(numbers)
        }
        called = [number for number, fold in enumerate(plan.folds) if fold.operation == CALLED]
        store = 0 if self._texts is None else self._texts.store.address
        rows = [
            _fold_row(
                fold, plan.schema, flags, number, called.index(number) if number in called else -1,
                store if number in self._texts_of else 0,
            )
            for number, fold in enumerate(plan.folds)
        ]  # fmt: skip
        calls = [
            call_words(fold.functions, [(plan.schema.position(name), plan.schema.kind(name)) for name in fold.columns],
                       fold.are_states)
            for fold in [plan.folds[number] for number in called] if fold.functions is not None
        ]  # fmt: skip
        self._calls = np.array(calls, np.int64).reshape(len(calls), Call.size)
        widest = max([BLOCK, *[2 + fold.functions.width for fold in plan.folds if fold.functions is not None]])
        self._job = FoldJob().words
        self._call_scratch = shared_scratch(__name__, SCRATCH_ROWS, widest)
        self._folds = np.array(rows, FoldRow.dtype)
        self._parameters = [np.array(each.parameters, np.float64) for each in plan.results]
        results = [_result_row(*each) for each in zip(plan.results, self._parameters, strict=True)]
        self._results = np.array(results, ResultRow.dtype)
        self._kept_at = np.zeros(len(rows), np.int64)
        self._sets = np.zeros((len(pieces), ValueSet.size), np.int64)
        self.values = [
            ValueSets(ValueSet(words), plan.schema.kind(column), plan.schema.position(column), numbers, merges)
            for words, (column, numbers) in zip(self._sets, pieces, strict=True)
        ]
        """The sets, in the order of `counted_columns`."""
        self._scratch = shared_scratch(__name__, SET_SCRATCH_ROWS, BLOCK)

    def reserve(self, limit: int) -> None:
        """Make room for slots below `limit`."""
        self._words = grown(self._words, limit, None, axis=0)
        self._kept = {at: grown(values, limit) for at, values in self._kept.items()}

    def make_room(self, limit: int) -> None:
        """Make room for slots below `limit`, for one more value in each set, and for the texts that had none."""
        self.reserve(limit)
        for values in self.values:
            values.grow(limit)
        if self._texts is not None and self._texts.lacks_room:
            self._texts.make_room(self._kept_texts)

    @property
    def _kept_texts(self) -> list[np.ndarray]:
        return [self._kept[at] for at in self._texts_of]

    def link(self, folded: Folds) -> None:
        """Write down where all is now. To be repeated when that has grown."""
        self._kept_at[list(self._kept)] = [address_of(values) for values in self._kept.values()]
        folded.words[:] = (
            *(address_of(self._folds), len(self._folds), address_of(self._words), *self._words.shape),
            *(address_of(self._results), len(self._results), address_of(self._kept_at), folded.arrived),
            *(address_of(self._sets), len(self._sets), address_of(self._scratch)),
            *(address_of(self._calls), len(self._calls), address_of(self._job), address_of(self._call_scratch)),
            *(self._call_scratch.shape[1], len(self._texts_of)),
        )

    def start(self, slots: np.ndarray) -> None:
        """Slots, for which there is room, start anew: int64 (n,)."""
        self._words[slots] = self._initial
        self.forget_texts(slots)

    def forget_texts(self, slots: np.ndarray) -> None:
        """Slots keep no texts: int64 (n,)."""
        for at in self._texts_of:
            self._kept[at][slots] = 0  # the empty text

    def partials(self, slots: np.ndarray) -> HeapedColumns:
        """The state of slots, int64 (n,), as `Plan.partial_kinds` has it."""
        columns: list[np.ndarray] = []
        heaps: list[np.ndarray | None] = []
        for at, fold in enumerate(self._plan.folds):
            columns.append(self._words[slots, at])
            heaps.append(None)
            if at in self._kept:
                kind = self._kinds[at]
                assert kind is not None
                values = np.where(columns[-1] == fold.initial, kind.null, self._kept[at][slots])
                columns.append(values.view(kind.dtype))
                heaps.append(heap_of_words() if kind.is_text else None)
        if not self._texts_of:
            return tuple(columns), tuple(heaps)
        schema = Schema.of(self._plan.partial_kinds())
        batch = Batch.wrap(schema, tuple(columns), len(slots), tuple(heaps)).copy()  # what is kept may move
        return batch.columns, batch.heaps

    def put(self, slots: np.ndarray, partials: Batch) -> int:
        """Let slots, for which there is room, be what `partials`, by the names of `Plan.partial_kinds`, were elsewhere;
        but what counts different values is 0, until these come. Returns how many rows have come at least, where these
        are told apart by the order of arrival."""
        arrived = 0
        for at, fold in enumerate(self._plan.folds):
            words = partials.words(self._plan.own(f"#{at}"))
            self._words[slots, at] = fold.initial if fold.operation == DISTINCT else words
            some = np.flatnonzero(words != fold.initial)
            if at not in self._kept or not len(some):
                continue
            if fold.order is None:
                arrived = max(arrived, int(words[some].max()) + 1)
            value = self._plan.own(f"#{at}.value")
            values = np.ascontiguousarray(partials.words(value).view(np.int64)[some])
            if at in self._texts_of and self._texts is not None:
                heap = partials.heaps[partials.schema.position(value)]
                assert heap is not None
                values = self._texts.keep(values, heap, self._kept_texts)
            self._kept[at][slots[some]] = values
        return arrived

    def wrong(self, at: int, is_null: int) -> Exception:
        """The error for fold number `at`: a sum that left its range, or a function that raised; or, of what it keeps
        and where it `is_null`, a value that is the number which stands for null, or a result that `finalize` does not
        give."""
        fold = self._plan.folds[at]
        column = fold.stands_for or fold.column
        if fold.functions is not None and is_null:
            return self._not_finished(at, column)
        if fold.functions is not None:
            return ValueError(
                f"operator {self._plan.operator!r}: a function of {fold.functions.name} of {column!r} raised; what a "
                f"compiled function says is lost: let it keep in its state that it cannot go on"
            )
        if fold.keeps_rows or is_null:
            return self._null_made(at, column)
        return OverflowError(
            f"operator {self._plan.operator!r}: a sum of {column!r} left the range of 64 bits, if only on the "
            f"way; make the column float64, divide it first, or say on_error='stream', which minds what is sent alone"
        )

    def _not_finished(self, at: int, column: str | None) -> ValueError:
        result = next(result for result in self._plan.results if result.fold == at)
        assert result.finish is not None
        return ValueError(
            f"operator {self._plan.operator!r}: finalize of {result.finish.name} of {column!r} raised, or "
            f"{gave_no(result.kind)}"
        )

    def _null_made(self, at: int, column: str | None) -> SchemaError:
        kind = next(result.kind for result in self._plan.results if result.fold == at)
        return SchemaError(
            f"operator {self._plan.operator!r}: a result of column {column!r} is {kind.null_word()[0]}, the number "
            f"that stands for null in {kind}: leave such rows out before, or cast the column to another kind"
        )


def _is_quick(fold: Fold, kind: Kind | None) -> bool:
    is_of_all = fold.where is None and (kind is None or not kind.nullable)
    return is_of_all and not fold.flip and fold.operation in (COUNT, SUM, MIN, MAX)


def _width(folds: int) -> int:
    """How many words a slot has: it is in no more cache lines than it needs."""
    return -(-folds // 8) * 8 if folds > 4 else (1, 1, 2, 4, 4)[folds]
