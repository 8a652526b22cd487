"""on_error="stream" of aggregate: sums of integers in parts that stay in range, put together behind the aggregation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tokenring.engine import AnyStream, Schema, SchemaError
from tokenring.operators.expressions import Alias, Expression, Term, col, column_named_by, lit, typed, when, words_as
from tokenring.operators.folds import Aggregate, Count, Mean, Plan, Sum
from tokenring.operators.rows import ERROR, Columns, branch, columns_of, computed, unnamed
from tokenring.operators.state import as_rows
from tokenring.operators.time import with_late

_PART = 2**21
"""A number is low + middle * _PART + high * _PART**2. Each part's sum has room for 2**42 rows of a group; in halves it
would be 2**31 rows, be they all -1."""
_RANGES = {"int64": (-(2**21), 2**21 - 1, -(2**63)), "uint64": (0, 2**22 - 1, 2**64 - 1)}
"""The least and the greatest high part of a number, by its kind, and the number that is null where there are nulls. A
decimal is the int64 that is its word."""


def with_failed(
    stream: AnyStream, name: str, by: Columns, aggregates: Mapping[str, Any], aggregated: Callable[..., Any]
) -> tuple[AnyStream, ...]:
    """(results, failed), or (results, late, failed): what `aggregated(*aliased)` gives for these aggregates, and of
    results that have a sum beyond its kind whose they are, and why."""
    schema = _with_key(stream.schema, name, by)
    splits = {column: _split(column, aggregate, schema, name) for column, aggregate in aggregates.items()}
    made = aggregated(*[Alias(part, column) for split in splits.values() for column, part in split.parts.items()])
    sums, *late = made if isinstance(made, tuple) else (made,)
    names = sums.schema.names
    key = {column: col(column) for column in names[: names.index(next(iter(splits)))]}
    if ERROR in key:
        raise SchemaError(f"operator {name!r}: what fails gets a column {ERROR!r}; call that of the key otherwise")
    fails, why = lit(False), when(lit(False)).then("")
    for split in splits.values():
        fails, why = fails | split.fails, why.when(split.fails).then(split.why)
    failing, rest = branch(sums, fails, name=f"{name}.failed")
    failed = as_rows(computed(failing, f"{name}.errors", key | {ERROR: why.otherwise("")}))
    results = computed(rest, f"{name}.sums", key | {column: split.result for column, split in splits.items()})
    results.updates = sums.updates  # still by the key, though it has no new row while it fails
    return with_late("results, late, failed", results, *late, failed) if late else (results, failed)


@dataclass(frozen=True, eq=False)
class _Split:
    """An aggregate in parts: these, by the names of their results; and over those results, what it is, where that
    cannot be said, and why not."""

    parts: dict[str, Aggregate]
    result: Expression
    fails: Expression
    why: str


def _split(name: str, aggregate: Any, schema: Schema, operator: str) -> _Split:
    """A sum or mean of integers in parts; all else is its only part, and refused later if it is wrong. The first part
    is called as the aggregate is, so that names that are taken are refused as ever."""
    term = _term(aggregate.column, schema, operator) if isinstance(aggregate, Sum | Mean) else None
    kind = None if term is None else Schema.of({name: term.spelled}).kind(name)
    if term is None or kind is None or (kind.name not in _RANGES and not kind.is_decimal):
        return _Split({name: aggregate}, col(name), lit(False), "")
    number, where = _expression(aggregate.column), aggregate.where
    summed, words = kind.total, "int64" if kind.is_decimal else kind.name
    if kind.is_decimal:
        number = words_as(number, words)
    lowest = number % _PART  # null where the number is; the others are 0 there, so that nobody counts theirs, too
    others = (number // _PART % _PART).fill_null(0), (number // _PART**2).fill_null(0)
    names = name, unnamed(f"{name} middle"), unnamed(f"{name} high")
    parts: dict[str, Aggregate] = {each: Sum(of, where) for each, of in zip(names, (lowest, *others), strict=True)}

    least, most, null = _RANGES[words]
    low, middle, high = (col(each).fill_null(0) for each in names)
    middle += low // _PART
    high += middle // _PART
    rest = middle % _PART * _PART + low % _PART
    result, fails = high * _PART**2 + rest, ~high.between(least, most)
    can_be_null = kind.nullable or where is not None
    if isinstance(aggregate, Mean):
        count = unnamed(f"{name} count")
        parts[count] = Count(lowest, where)
        result = result / kind.unit / col(count) if kind.is_decimal else result / col(count)
    elif can_be_null:
        fails, summed = fails | (high == null // _PART**2) & (rest == null % _PART**2), f"{summed}?"
    if can_be_null:
        result = when(col(name).is_not_null()).then(result)
    if kind.is_decimal and isinstance(aggregate, Sum):
        result = words_as(result, kind.total)
    said = f"{name}={type(aggregate).__name__}({aggregate.column!r})"
    return _Split(parts, result, fails, f"{said}: the sum left the range of {summed}")


def _expression(column: str | Expression) -> Expression:
    return col(column) if isinstance(column, str) else column


def _term(column: Any, schema: Schema, operator: str) -> Term | None:
    """What is aggregated; None for a column that is not there."""
    if not isinstance(column, str | Expression):
        return None
    expression = _expression(column)
    named = column_named_by(expression)
    if named is not None and named not in schema.positions:
        return None
    return typed(expression, schema, operator)


def _with_key(schema: Schema, operator: str, by: Columns) -> Schema:
    """With the columns that `by` computes, which may be aggregated as well. SchemaError for names that are not there,
    before there are columns of which nobody knows."""
    columns = columns_of(by, f"operator {operator!r}")
    Plan.of(operator, schema, [each for each in columns if isinstance(each, str)], {})
    made = {
        each.name: typed(each.value, schema, operator).spelled
        for each in columns
        if isinstance(each, Alias) and isinstance(each.value, Expression)
    }
    return Schema.of(schema.spec() | made)
