"""What is made of each row of a collection by itself: other columns, fewer rows, the rows of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from tokenring.engine import Batch, GraphError, Schema, SchemaError, Stream, UsageError
from tokenring.engine.arguments import require_function
from tokenring.engine.columns import require_schema
from tokenring.operators.collections.sharing import Rejected
from tokenring.operators.collections.streams import (
    later_by,
    mapped,
    require_none_of,
    rows_made,
    up_to_the_last_time,
    with_nulls,
)
from tokenring.operators.collections.words import TIMES, TIMES_ADDED
from tokenring.operators.durations import Span, span_of
from tokenring.operators.expressions import Alias, Expression, col, greatest, typed, with_aliased
from tokenring.operators.migrate import saving_of
from tokenring.operators.rows import all_columns, columns_kept, computed, drop_columns, new_names, rename, union
from tokenring.operators.rows import filter as filter_rows
from tokenring.operators.time import kind_of_times, require_integer_times


class Rows:
    """Rows of a schema, as a stream of updates: (columns, time, multiplicity). is_net: those of one time are added up,
    so that what is added and taken away at once is not there."""

    def __init__(self, stream: Stream, schema: Schema, is_net: bool = False) -> None:
        self.stream, self.schema, self.is_net = stream, schema, is_net
        stream.rejects = self.rejected = stream.scope.kept(Rejected)
        self.depth: int = stream.scope.depth

    def filter(self, condition: Any) -> Self:
        """The rows for which an expression is true."""
        return type(self)(filter_rows(self.stream, condition), self.schema, self.is_net)

    def select(self, /, *kept: Any, **columns: Any) -> Self:
        """These columns alone, as `select` of a stream."""
        return self._computed("select", {**columns_kept(self.stream.schema, kept, "select"), **columns})

    def with_columns(self, /, *aliased: Alias, **columns: Any) -> Self:
        """These columns besides, or in place of others, by expressions, as `with_columns` of a stream."""
        return self._computed("with_columns", all_columns(self.schema) | with_aliased("with_columns", aliased, columns))

    def rename(self, columns: Mapping[str, str] | None = None, /, **renamed: str) -> Self:
        """Other names for columns: `rename(price="euro")`, or a mapping of old names to new ones."""
        names = new_names(columns, renamed)
        columns_kept(self.schema, tuple(names), "rename")
        require_none_of(names.values(), self._hidden, "rename")
        return self._of(rename(self.stream, names))

    def drop_columns(self, *dropped: str) -> Self:
        """All columns but these."""
        columns_kept(self.schema, dropped, "drop_columns")
        return self._of(drop_columns(self.stream, *dropped))

    def map_batches(
        self, schema: Schema, function: Callable[[Batch], Mapping[str, Any] | Batch], name: str = "map_batches"
    ) -> Self:
        """The columns of `schema` that a function makes of a batch of rows, a row of each: a mapping, or a batch. Of
        equal rows it must make equal ones, whenever it is called: what was added is taken away by it again."""
        require_function(f"operator {name!r}", "function", function)

        def apply(rows: Batch) -> tuple[np.ndarray, Batch]:
            made = rows_made(function(rows), schema, name)
            if made.rows != rows.rows:
                raise SchemaError(
                    f"operator {name!r}: the function made {made.rows} rows of {rows.rows}; make one of each, or say "
                    f"flat_map, whose function says which row each is made of"
                )
            return np.arange(rows.rows), made

        return self.flat_map(schema, apply, name)

    def flat_map(
        self,
        schema: Schema,
        function: Callable[[Batch], tuple[np.ndarray, Mapping[str, Any] | Batch]],
        name: str = "flat_map",
    ) -> Self:
        """Any number of rows of each: `function(batch)` returns for each row that it makes the number, within the
        batch, of the one that it is made of, int64 (rows made,), and the columns of `schema`, a mapping or a batch.
        Of equal rows it must make equal ones, whenever it is called: what was added is taken away by it again."""
        require_function(f"operator {name!r}", "function", function)
        require_schema(f"operator {name!r}", schema)
        return type(self)(mapped(self.stream, self.schema, schema, self.depth, function, name), schema)

    def delay(self, by: Span | Expression | None = None, *, until: Expression | None = None) -> Self:
        """The rows later: each update `by` so much (a number in the unit of times, or an expression of its row; of
        instants a duration, "1h", which is so many ns), or at the time that the expression `until` says, int64 or
        timestamp, if that is later than its own. SchemaError for a duration where times are whole numbers of a column,
        whose unit nobody knows, UsageError for a negative `by`, as OperatorError where an expression
        is; TimeRegressionError (as OperatorError) for a row that would be there after the last time there is.
        GraphError in a loop, and for `by` under recovery.
        """
        require_integer_times(self.stream.scope, "operator 'delay': rows are delayed", "leave() the loop first")
        if by is not None and saving_of(self.stream.scope) is not None:
            raise GraphError(
                "operator 'delay': by= counts from rows' times, of which those that are long over are forgotten under "
                "recovery: say delay(until=), with the time itself in a column; or run without recovery="
            )
        if (by is None) == (until is None):
            raise UsageError("operator 'delay': say how much later, by=, or the time itself, until=")
        if until is not None and not isinstance(until, Expression):
            raise UsageError(f"operator 'delay': until= is an expression of a row, such as col('due'), not {until!r}")
        if isinstance(by, Expression):
            return type(self)(later_by(self.stream, by, "delay"), self.schema)
        own = col(TIMES[0])
        if until is not None:
            found = typed(until, self.stream.schema, "delay").spelled
            if found not in ("int64", "timestamp"):
                raise SchemaError(
                    f"operator 'delay': until={until!r} is {found}; a time must be int64 or timestamp, without nulls: "
                    f"say .cast(...), .fill_null(...), or keep others apart"
                )
            later = self._with(TIMES[0], greatest(own, until.cast("int64")))
        else:
            span = span_of(by, kind_of_times(self.stream), "operator 'delay': by")
            if span < 0:
                raise UsageError(
                    f"operator 'delay': rows cannot be there {-span} before their times; by must be 0 or more"
                )
            later = self._with(TIMES[0], own + span)
        return type(self)(up_to_the_last_time(later, "delay"), self.schema)

    def negate(self) -> Self:
        """The same rows, each taken away as often as it is there."""
        return type(self)(self._with(TIMES_ADDED, -col(TIMES_ADDED)), self.schema)

    def concat(self, *others: Self) -> Self:
        """The rows of all."""
        for other in others:
            self.require_same_scope("concat", other)
            if other.schema != self.schema:
                raise SchemaError(
                    f"concat: {other.schema!r} is not {self.schema!r}; select the same columns of both, in one order; "
                    f"cast those of other kinds, and fill_null those that are nullable on one side alone"
                )
        return type(self)(union(self.stream, *[other.stream for other in others]), self.schema)

    def as_schema(self, schema: Schema, name: str = "as_schema") -> Self:
        """The columns that a schema names, be they nullable there or not; null where there is no such column.
        SchemaError for a column of another kind, or that is not there and cannot be null; UsageError, of a row, for a
        null in a column that has none, and for the number that is null there."""
        require_schema(f"operator {name!r}", schema)
        return self if schema == self.schema else type(self)(with_nulls(self.stream, schema, self.depth, name), schema)

    def require_same_scope(self, operator: str, other: Rows) -> None:
        """SchemaError if the others are no collection, GraphError if the rows of both are not of one scope."""
        require_collection(operator, other)
        if self.stream.scope is not other.stream.scope:
            raise GraphError(
                f"operator {operator!r}: rows of {self.stream.scope.describe()} and of "
                f"{other.stream.scope.describe()} do not meet: bring what is outside in by .enter(loop), or lead what "
                f"is inside out by .leave(loop)"
            )

    @property
    def _hidden(self) -> tuple[str, ...]:
        return (*TIMES[: self.depth], TIMES_ADDED)

    def _computed(self, who: str, columns: Mapping[str, Any]) -> Self:
        """These columns of each row, by expressions; `who` is what the operator is called."""
        require_none_of(columns, self._hidden, who)
        return self._of(computed(self.stream, who, {**columns, **{name: col(name) for name in self._hidden}}))

    def _of(self, stream: Stream) -> Self:
        """A stream whose last columns are the hidden ones, as a collection."""
        return type(self)(stream, stream.schema.select(stream.schema.names[: -len(self._hidden)]))

    def _with(self, name: str, value: Any) -> Stream:
        """The stream with another value in a column."""
        return computed(self.stream, "select", all_columns(self.stream.schema) | {name: value})


def require_collection(operator: str, rows: Any) -> None:
    """SchemaError for what is no collection."""
    if not isinstance(rows, Rows):
        raise SchemaError(f"operator {operator!r}: {rows!r} is no collection; say .collection() of it")
