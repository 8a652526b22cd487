"""Variance and StdDev: how far values lie from their mean, by Welford's and Chan's recurrences."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tokenring.engine import SchemaError, kernel
from tokenring.engine.arguments import is_whole
from tokenring.engine.compiled import Words
from tokenring.operators.folds.called import Functions, functions_of
from tokenring.operators.folds.own.own_aggregate import OfFunctions

STATE = np.dtype([("count", "int64"), ("first", "float64"), ("mean", "float64"), ("squares", "float64")])
"""mean: less `first`, one of the values, so that values that lie close together keep all digits however far they are
from 0; squares: the sum of the squared distances from the mean."""


@kernel
def _init(state: Any) -> None:
    state.count, state.first, state.mean, state.squares = 0, 0.0, 0.0, 0.0


@kernel
def _update(state: Any, value: float) -> None:
    if state.count == 0:
        state.first = value
    state.count += 1
    value -= state.first
    before = value - state.mean
    state.mean += before / state.count
    state.squares += before * (value - state.mean)


@kernel
def _combine(state: Any, other: Any) -> None:
    if other.count == 0:
        return
    if state.count == 0:
        state.count, state.first, state.mean, state.squares = other.count, other.first, other.mean, other.squares
        return
    count, apart = state.count + other.count, other.first - state.first + (other.mean - state.mean)
    state.mean += apart * (other.count / count)
    state.squares += other.squares + apart * apart * (state.count * (other.count / count))
    state.count = count


@kernel
def _variance(state: Any, parameters: Words) -> float | None:
    left = state.count - parameters[0]
    return state.squares / left if left > 0 else None


@kernel
def _std_dev(state: Any, parameters: Words) -> float | None:
    left = state.count - parameters[0]
    return math.sqrt(state.squares / left) if left > 0 else None


_VARIANCE = functions_of("Variance", STATE, ("float64",), "float64?", _init, _update, _combine, _variance)
_STD_DEV = _VARIANCE.finished_by("StdDev", _std_dev)


@dataclass(frozen=True, eq=False)
class Variance(OfFunctions):
    """The variance, float64: the squared distances from the mean, added up and divided by the number of values less
    `ddof`; null where there are no more than `ddof` values. ddof=1, of a sample (SQL's var_samp); ddof=0, of all there
    is (var_pop). NaN goes through.

    Computed by Welford's and Chan's recurrences in float64, to which integers are rounded first, of the distances from
    a key's first value: the relative error is at most of the order of
    values * 2**-53 * sqrt(1 + (mean - first)**2 / variance).
    """

    ddof: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_whole(self.ddof) and 0 <= self.ddof < 2**63):
            raise SchemaError(f"{type(self).__name__}(..., ddof={self.ddof!r}): give 1, of a sample, or 0, of all")

    @property
    def functions(self) -> Functions:
        """See OfFunctions."""
        return _VARIANCE

    @property
    def parameters(self) -> tuple[float, ...]:
        """See OfFunctions."""
        return (self.ddof,)


class StdDev(Variance):
    """The standard deviation, float64: the square root of the variance; see Variance."""

    @property
    def functions(self) -> Functions:
        """See OfFunctions."""
        return _STD_DEV
