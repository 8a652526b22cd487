"""What an aggregation computes, found out and checked when the dataflow is declared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tokenring.engine import Schema, SchemaError, did_you_mean
from tokenring.engine.columns import free_name
from tokenring.operators.folds.functions import Aggregate, Fold, Result, maybe_null
from tokenring.operators.folds.kernels import CALLED, COUNT, DISTINCT, MAX, MIN, PART, SUM, SUM_UNSIGNED

ALL = "#all"
"""A column that is 0 in every row: what a group of all rows is exchanged by."""

OPTIONS = ("by", "window", "emit", "late", "lateness", "on_error", "name")
"""What a name that stands where aggregates are named may be meant for."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Folds over rows of `schema`, and the results made of them, by groups of the columns `by`."""

    operator: str
    schema: Schema
    by: tuple[str, ...]
    folds: tuple[Fold, ...]
    results: tuple[Result, ...]
    names: tuple[str, ...]
    said: str
    """What is kept of groups, in words: groups of which other ones were said are not put together."""

    @classmethod
    def of(
        cls, operator: str, schema: Schema, by: Sequence[str], aggregates: Mapping[str, Aggregate], *more: object
    ) -> "Plan":
        """more: what is said besides of what is kept. SchemaError, naming the operator, for columns that are not there
        or do not fit, and names that clash."""
        for name in by:
            schema.position(name, f"operator {operator!r}", "to group by")
        if len(set(by)) < len(by):
            raise SchemaError(f"operator {operator!r}: a column to group by is named twice: {', '.join(by)}")
        folds: list[Fold] = []
        known: dict[object, int] = {}

        def ask(fold: Fold) -> int:
            if fold.key not in known:
                known[fold.key] = len(folds)
                folds.append(fold)
            return known[fold.key]

        results = []
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise SchemaError(
                    f"operator {operator!r}: {name}={aggregate!r} is no aggregate; give {name}=Count(), "
                    f"{name}=Sum('column') or the like{did_you_mean(name, OPTIONS)}"
                )
            require_other_names(operator, by, [name])
            results.append(aggregate.plan(schema, f"operator {operator!r}, {name}", ask))
        read = dict.fromkeys([column for fold in folds for column in fold.columns])
        kinds = [f"{column}: {schema.kind(column).name}" for column in read]  # which is how state is to be read
        said = "; ".join([f"by {', '.join(by) or 'nothing'}", *map(str, aggregates.values()), *kinds, *map(str, more)])
        return cls(operator, schema, tuple(by), tuple(folds), tuple(results), tuple(aggregates), said)

    @property
    def keys(self) -> dict[str, str]:
        """Names and kinds of the columns to group by."""
        return {name: str(self.schema.kind(name)) for name in self.by}

    @property
    def result_kinds(self) -> dict[str, str]:
        """Names and kinds of the results."""
        return {name: str(result.kind) for name, result in zip(self.names, self.results, strict=True)}

    @property
    def merges(self) -> bool:
        """Whether workers may fold their own rows first, and merge: not for sets of distinct values."""
        return all(fold.operation != DISTINCT for fold in self.folds)

    @property
    def combines(self) -> bool:
        """Whether rows of one key may become one before anything else is done, of which nothing can be told later."""
        return all(fold.operation in (COUNT, SUM, SUM_UNSIGNED, MIN, MAX) for fold in self.folds)

    def own(self, name: str) -> str:
        """What a column of the operator's own is called beside those to group by."""
        return free_name(name, self.by)

    def partial_kinds(self) -> dict[str, str]:
        """The columns of state that cross between workers: a word a fold, and the value it keeps."""
        kinds = {}
        for at, fold in enumerate(self.folds):
            kinds[self.own(f"#{at}")] = "int64"
            if fold.keeps_rows:
                assert fold.column is not None
                kinds[self.own(f"#{at}.value")] = maybe_null(self.schema.kind(fold.column), fold.where)
        return kinds

    def ordered_by(self, time: str) -> "Plan":
        """The same plan; First and Last without an order of their own go by this column."""
        folds = [replace(fold, order=time) if fold.keeps_rows and fold.order is None else fold for fold in self.folds]
        return replace(self, folds=tuple(folds))

    def merging(self, schema: Schema) -> "Plan":
        """The same results, from rows of partial state; schema: theirs."""
        folds = []
        for at, fold in enumerate(self.folds):
            word, operation = self.own(f"#{at}"), SUM if fold.operation == COUNT else fold.operation
            if fold.keeps_rows:
                folds.append(Fold(operation, self.own(f"#{at}.value"), None, word))
            elif fold.operation in (CALLED, PART):
                stands_for = fold.stands_for or fold.column
                state = replace(fold, column=word, second=None, where=None, stands_for=stands_for, are_states=True)
                folds.append(state)
            else:
                folds.append(Fold(operation, word, stands_for=fold.stands_for or fold.column))
        return replace(self, schema=schema, folds=tuple(folds))

    def needs(self) -> tuple[str, ...]:
        """The columns that it looks at, in order."""
        needed = {*self.by}
        for fold in self.folds:
            needed |= {name for name in (*fold.columns, fold.order, fold.where) if name is not None}
        return tuple(name for name in self.schema.names if name in needed)


def require_other_names(operator: str, by: Sequence[str], results: Iterable[str]) -> None:
    """SchemaError for results that are called as columns to group by are."""
    for name in results:
        if name in by:
            raise SchemaError(f"operator {operator!r}: {name!r} is a column to group by; call the result otherwise")


def counted_columns(plan: Plan, most: int) -> list[tuple[str, list[int]]]:
    """The columns of which folds count different values, each with the numbers of these folds: at most so many, others
    under the same column again."""
    numbers: dict[str, list[int]] = {}
    for at, fold in enumerate(plan.folds):
        if fold.operation == DISTINCT and fold.column is not None:
            numbers.setdefault(fold.column, []).append(at)
    return [(column, found[at : at + most]) for column, found in numbers.items() for at in range(0, len(found), most)]
