"""Means as sums and counts that are kept, and divided behind them."""

from collections.abc import Iterable, Mapping
from typing import Any

from tokenring.operators.expressions import Expression, col
from tokenring.operators.folds import Count, Mean, Sum


class SumOfMean(Sum):
    """A sum that is to be divided: of decimals it may have as many digits as 64 bits say."""


def without_means(folds: Mapping[str, Any]) -> dict[str, Any]:
    """The folds, for each mean a sum and a count in its place."""
    made: dict[str, Any] = {}
    for result, fold in folds.items():
        if isinstance(fold, Mean):
            total, count = _parts(result)
            made |= {total: SumOfMean(fold.column, where=fold.where), count: Count(fold.column, where=fold.where)}
        else:
            made[result] = fold
    return made


def means_of(keys: Iterable[str], folds: Mapping[str, Any]) -> dict[str, Expression]:
    """The columns that were asked for, of what `without_means` made."""
    columns = {key: col(key) for key in keys}
    for result, fold in folds.items():
        total, count = _parts(result)
        columns[result] = col(total) / col(count) if isinstance(fold, Mean) else col(result)
    return columns


def _parts(result: str) -> tuple[str, str]:
    return f"@sum of {result}", f"@count of {result}"
