"""Totals of columns: which there are, of what kinds they come, and what kernels are told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tokenring.engine import Kind, Schema, SchemaError
from tokenring.engine.columns import FLOAT, SIGNED, UNSIGNED, names_of_kinds
from tokenring.operators.collections.totals.means import SumOfMean
from tokenring.operators.collections.updates import (
    CALLED,
    COUNT,
    COUNT_PRESENT,
    GREATEST,
    LEAST,
    NO_SUM,
    SUM,
    SUM_FLOAT,
    SUM_UNSIGNED,
    SUMMED_WORDS,
    TOTAL_WORDS,
    TotalRule,
    width_of,
)
from tokenring.operators.expressions import Expression, col, lit, when
from tokenring.operators.folds import (
    OPTIONS,
    Aggregate,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Sum,
    column_of,
)
from tokenring.operators.folds.called import made_also, takes_of
from tokenring.operators.folds.own import OfFunctions

_SUMS = {SIGNED: SUM, UNSIGNED: SUM_UNSIGNED, FLOAT: SUM_FLOAT}
"""How words of an order are summed."""
_EXTREMES = {Min: LEAST, Max: GREATEST}


class Total(NamedTuple):
    """How a column of the result is made: of which column (None: of the rows), whether that may be null, and its kind.
    """

    how: int
    column: str | None
    may_be_null: bool
    kind: Kind
    most: int = 0
    """The greatest word of it, and of what is below 0, if it is a sum of decimals; else 0."""
    by_functions: OfFunctions | None = None
    """What makes it of these columns, where functions do."""

    @property
    def is_of_all_rows(self) -> bool:
        """Whether all rows are to be looked at for it."""
        return self.how in (LEAST, GREATEST, CALLED)

    @property
    def no_value(self) -> int:
        """The word of the result where there was no value."""
        return self.kind.null if self.may_be_null else 0


def totals_of(name: str, schema: Schema, folds: Mapping[str, Any]) -> dict[str, Total]:
    """What these folds of columns make; SchemaError for what they cannot."""
    made = {}
    for result, fold in folds.items():
        if type(fold) not in (Count, Sum, SumOfMean, Min, Max) and not isinstance(fold, OfFunctions):
            raise SchemaError(f"operator {name!r}: {_no_total(result, fold)}")
        columns = fold.column, fold.second if isinstance(fold, OfFunctions) else None
        if any(isinstance(column, Expression) for column in columns) or fold.where is not None:
            raise SchemaError(
                f"operator {name!r}: {result} is of an expression, or of some rows; make a column of it with "
                f"`with_columns` before the rows are arranged"
            )
        if isinstance(fold, OfFunctions):
            shape = fold.shape(schema, f"operator {name!r}, {result}")
            made[result] = Total(CALLED, shape.columns[0], shape.kinds[0].nullable, shape.result, by_functions=fold)
        else:
            made[result] = _total_of(name, schema, result, fold)
    return made


def _no_total(result: str, fold: Any) -> str:
    """That collections make no such total, and what to do."""
    if not isinstance(fold, Aggregate) and result in OPTIONS:
        return f"collections have no {result}=, since their totals change with rows: say it of the stream before"
    cure = ""
    if isinstance(fold, First | Last):
        cure = "; what is first or last by an order is ArgMin or ArgMax by it"
    elif isinstance(fold, Mean | CountDistinct):
        cure = "; say .collection().aggregate(...) of the arrangement"
    return (
        f"{result} is to be Count(), or Count, CountDistinct, Sum, Mean, Min, Max, Variance, StdDev, ArgMax, ArgMin or "
        f"ApproxQuantile of a column, or an OwnAggregate, not {type(fold).__name__}{cure}"
    )


def _total_of(name: str, schema: Schema, result: str, fold: Any) -> Total:
    if fold.column is None and isinstance(fold, Count):
        return Total(COUNT, None, False, _kind("int64"))
    column = column_of(f"operator {name!r}, {result}", fold)
    schema.position(column, f"operator {name!r}", "to make totals of")
    kind = schema.kind(column)
    if isinstance(fold, Count):
        return Total(COUNT_PRESENT if kind.nullable else COUNT, column, kind.nullable, _kind("int64"))
    if type(fold) in _EXTREMES:
        return Total(_EXTREMES[type(fold)], column, kind.nullable, kind)
    if not kind.total:
        raise SchemaError(
            f"operator {name!r}: Sum of column {column!r}, which is {kind}; it takes "
            f"{names_of_kinds(totals=True)}: cast it, or take Min, Max or Count of it"
        )
    made = _kind(f"{kind.total}?" if kind.nullable else kind.total)
    most = 0 if made.range is None or isinstance(fold, SumOfMean) else made.range[1]
    return Total(_SUMS[kind.order], column, kind.nullable, made, most)


def _kind(spelt: str) -> Kind:
    return Schema.of({"_": spelt}).kind("_")


def require_columns(name: str, folds: Mapping[str, Any]) -> None:
    """SchemaError for folds that say of no column, but those that count rows."""
    for result, fold in folds.items():
        if isinstance(fold, Aggregate) and not isinstance(fold, Count) and fold.column is None:
            column_of(f"operator {name!r}, {result}", fold)


def columns_folded(
    name: str, schema: Schema, keys: Sequence[str], folds: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(The columns that are to be kept of rows: their key and what is folded; folds of these). An expression, some of
    the rows, or a column of the key is a column of its own."""
    columns: dict[str, Any] = {key: col(key) for key in keys}
    made = {}
    for result, fold in folds.items():
        column, where = getattr(fold, "column", None), getattr(fold, "where", None)
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
        if total.by_functions is None:
            rules.append(_rule(total.how, column, 0 if total.may_be_null else -1, total.no_value, total.most))
        else:
            rules.append(_called(schema, keys, total, total.by_functions, column))
    return _table(rules)


def said_of(totals: np.ndarray) -> list[list[int]]:
    """The words of such a table without where functions lie in this process."""
    said = totals.copy()
    rules = TotalRule.of_table(said)
    for address in ("init", "update", "combine", "finalize"):
        rules[address] = 0
    return said.tolist()


def _rule(operation: int, column: int, present: int, no_value: int, most: int = 0) -> TotalRule:
    rule = TotalRule()
    rule.operation, rule.column, rule.present, rule.no_value, rule.most = operation, column, present, no_value, most
    return rule


def _table(rules: Sequence[TotalRule]) -> np.ndarray:
    return np.array([rule.words for rule in rules], np.int64).reshape(len(rules), TOTAL_WORDS)


def _called(schema: Schema, keys: int, total: Total, fold: OfFunctions, column: int) -> TotalRule:
    functions, shape = fold.functions, fold.shape(schema, "a total")
    takes = [takes_of(*each) for each in zip(functions.takes, shape.kinds, strict=True)]
    positions = [schema.position(column) - keys for column in shape.columns]
    rule = _rule(total.how, column, -1, total.kind.null)
    rule.init, rule.update = functions.init.address, functions.update.address
    rule.combine, rule.finalize = functions.combine.address, functions.finalize.address
    rule.width, rule.arguments, rule.is_float = functions.width, len(takes), total.kind.name == "float64"
    rule.takes, rule.second, rule.second_takes = takes[0], positions[-1], takes[-1]
    rule.parameter_count, rule.also = len(fold.parameters), made_also(total.kind)
    rule.parameters[: len(fold.parameters)].view(np.float64)[:] = fold.parameters
    return rule


def tables_of_parts(schema: Schema, totals: Mapping[str, Total]) -> tuple[np.ndarray, np.ndarray]:
    """(what parts rows have, int64 (columns, SUMMED_WORDS); what is made of parts, int64 (totals, TOTAL_WORDS)), for
    totals that are counts and sums alone."""
    how_summed: dict[str, int] = {}
    for total in totals.values():
        if total.column is not None and total.how != COUNT:
            before = how_summed.get(total.column, NO_SUM)
            how_summed[total.column] = before if total.how == COUNT_PRESENT else total.how
    part, firsts, presents = 1, {}, {}  # part 0 counts rows
    for column, how in how_summed.items():
        firsts[column], part = part, part + width_of(how)
        presents[column] = part if schema.kind(column).nullable else -1
        part += presents[column] >= 0
    summed = [(schema.position(each), how, firsts[each], presents[each]) for each, how in how_summed.items()]
    made = []
    for total in totals.values():
        if total.how == COUNT or total.column is None:
            made.append(_rule(COUNT, 0, -1, 0))
        elif total.how == COUNT_PRESENT:
            made.append(_rule(COUNT, presents[total.column], -1, 0))
        else:
            made.append(_rule(total.how, firsts[total.column], presents[total.column], total.no_value, total.most))
    return (
        np.array(summed, np.int64).reshape(len(summed), SUMMED_WORDS),
        _table(made),
    )
