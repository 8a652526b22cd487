"""Totals of columns: which there are, of what kinds they come, and what kernels are told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tokenring.engine import Schema, SchemaError
from tokenring.operators.collections.updates import NO_SUM, SUMMED_WORDS, TOTAL_WORDS, TotalRule, place_states, width_of
from tokenring.operators.expressions import Expression, col, lit, when
from tokenring.operators.folds import (
    COUNT,
    OPTIONS,
    SUM,
    SUM_FLOAT,
    SUM_UNSIGNED,
    Aggregate,
    Count,
    CountDistinct,
    First,
    Last,
    Mean,
    Shape,
    Sum,
    column_of,
)
from tokenring.operators.folds.called import call_words, made_also
from tokenring.operators.folds.own import OfFunctions


class Total(NamedTuple):
    """How a column of the result is made: by an aggregate that takes, and gives, this."""

    fold: Aggregate
    shape: Shape

    @property
    def column(self) -> str | None:
        """The column that it is of, the first of them; None: of the rows."""
        return self.shape.columns[0] if self.shape.columns else None

    @property
    def may_be_null(self) -> bool:
        """Whether that may be null."""
        return any([kind.nullable for kind in self.shape.kinds[:1]])

    @property
    def is_of_all_rows(self) -> bool:
        """Whether all rows are to be looked at for it."""
        return self.shape.operation not in (COUNT, SUM, SUM_UNSIGNED, SUM_FLOAT)


def totals_of(name: str, schema: Schema, folds: Mapping[str, Any]) -> dict[str, Total]:
    """What these folds of columns make; SchemaError for what they cannot."""
    made = {}
    for result, fold in folds.items():
        if not isinstance(fold, Aggregate) or isinstance(fold, First | Last | CountDistinct):
            raise SchemaError(f"operator {name!r}: {_no_total(result, fold)}")
        columns = fold.column, fold.second if isinstance(fold, OfFunctions) else None
        if any(isinstance(column, Expression) for column in columns) or fold.where is not None:
            raise SchemaError(
                f"operator {name!r}: {result} is of an expression, or of some rows; make a column of it with "
                f"`with_columns` before the rows are arranged"
            )
        made[result] = Total(fold, fold.shape(schema, f"operator {name!r}, {result}"))
    return made


def _no_total(result: str, fold: Any) -> str:
    """That collections make no such total, and what to do."""
    if not isinstance(fold, Aggregate) and result in OPTIONS:
        return f"collections have no {result}=, since their totals change with rows: say it of the stream before"
    cure = ""
    if isinstance(fold, First | Last):
        cure = "; what is first or last by an order is ArgMin or ArgMax by it"
    elif isinstance(fold, CountDistinct):
        cure = "; say .collection().aggregate(...) of the arrangement"
    return (
        f"{result} is to be Count(), or Count, CountDistinct, Sum, Mean, Min, Max, Variance, StdDev, ArgMax, ArgMin or "
        f"ApproxQuantile of a column, or an OwnAggregate, not {type(fold).__name__}{cure}"
    )


def columns_folded(
    name: str, schema: Schema, keys: Sequence[str], folds: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(The columns that are to be kept of rows: their key and what is folded; folds of these). An expression, some of
    the rows, or a column of the key is a column of its own."""
    columns: dict[str, Any] = {key: col(key) for key in keys}
    made = {}
    for result, fold in folds.items():
        column, where = getattr(fold, "column", None), getattr(fold, "where", None)
        if column is None and isinstance(fold, Aggregate) and not isinstance(fold, Count):
            column_of(f"operator {name!r}, {result}", fold)
        if where is not None and not isinstance(where, Expression):
            raise SchemaError(f"operator {name!r}: {result} is of rows that a function chooses; give an expression")
        if isinstance(column, Expression) or where is not None or column in keys:
            value = lit(1) if column is None else col(column) if isinstance(column, str) else column
            if isinstance(fold, Count) and where is not None:  # whatever the value is: some have none that may be null
                value, where = lit(1), where & value.is_not_null()
            own = f"@of {result}"
            columns[own] = value if where is None else when(where).then(value)
            fold = replace(fold, column=own, where=None)
        elif column is not None:
            _require_there(name, result, schema, column)
            columns[column] = col(column)
        second = getattr(fold, "second", None)
        if isinstance(second, Expression) or second in keys:
            own = f"@{result} by"
            columns[own] = col(second) if isinstance(second, str) else second
            fold = replace(fold, by=own)
        elif second is not None:
            _require_there(name, result, schema, second)
            columns[second] = col(second)
        made[result] = fold
    return columns, made


def _require_there(name: str, result: str, schema: Schema, column: str) -> None:
    """SchemaError for a total of a column that is not there."""
    schema.position(column, f"operator {name!r}, {result}")


def table_of_rows(schema: Schema, keys: int, totals: Mapping[str, Total]) -> np.ndarray:
    """What is made of rows whose first columns are the key, int64 (totals, TOTAL_WORDS)."""
    rules = []
    for total in totals.values():
        column = 0 if total.column is None else schema.position(total.column) - keys
        rules.append(_rule(total, column, 0 if total.may_be_null else -1))
        if isinstance(total.fold, OfFunctions):
            _have_functions(rules[-1], schema, keys, total.fold, total.shape)
    place_states(rules)
    return _table(rules)


def said_of(totals: np.ndarray) -> list[list[int]]:
    """The words of such a table without where functions lie in this process."""
    said = totals.copy()
    rules = TotalRule.of_table(said)
    rules["finalize"] = 0
    for address in ("init", "update", "combine", "retract"):
        rules["call"][address] = 0
    return said.tolist()


def _rule(total: Total, column: int, present: int) -> TotalRule:
    rule, kinds, made = TotalRule(), total.shape.kinds, total.shape.result
    rule.operation, rule.column, rule.present = total.shape.operation, column, present
    rule.no_value = made.null if made.nullable else 0
    if isinstance(total.fold, Sum) and made.range is not None:
        rule.most = made.range[1]
    if isinstance(total.fold, Mean):
        rule.unit = kinds[0].unit
    return rule


def _table(rules: Sequence[TotalRule]) -> np.ndarray:
    return np.array([rule.words for rule in rules], np.int64).reshape(len(rules), TOTAL_WORDS)


def _have_functions(rule: TotalRule, schema: Schema, keys: int, fold: OfFunctions, shape: Shape) -> None:
    columns = [(schema.position(name) - keys, kind) for name, kind in zip(shape.columns, shape.kinds, strict=True)]
    rule.call.words[:] = call_words(fold.functions, columns)
    rule.finalize, rule.present = fold.functions.finalize.address, -1
    rule.no_value, rule.is_float, rule.also = shape.result.null, shape.result.is_float, made_also(shape.result)
    rule.parameter_count = len(fold.parameters)
    rule.parameters[: len(fold.parameters)].view(np.float64)[:] = fold.parameters


def tables_of_parts(schema: Schema, totals: Mapping[str, Total]) -> tuple[np.ndarray, np.ndarray]:
    """(what parts rows have, int64 (columns, SUMMED_WORDS); what is made of parts, int64 (totals, TOTAL_WORDS)), for
    totals that are counts, sums and means alone."""
    how_summed: dict[str, int] = {}
    for total in totals.values():
        operation = total.shape.operation
        if total.column is not None and (operation != COUNT or total.may_be_null):
            before = how_summed.get(total.column, NO_SUM)
            how_summed[total.column] = before if operation == COUNT else operation
    firsts, presents = dict[str | None, int](), dict[str | None, int]()
    part = 1  # 0 counts rows
    for column, how in how_summed.items():
        firsts[column], part = part, part + width_of(how)
        presents[column] = part if schema.kind(column).nullable else -1
        part += presents[column] >= 0
    summed = [(schema.position(each), how, firsts[each], presents[each]) for each, how in how_summed.items()]
    made = []
    for total in totals.values():
        present = presents.get(total.column, -1)
        is_count = total.shape.operation == COUNT
        made.append(_rule(total, max(present, 0) if is_count else firsts[total.column], present))
    return np.array(summed, np.int64).reshape(len(summed), SUMMED_WORDS), _table(made)
