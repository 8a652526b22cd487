"""ArgMax and ArgMin: the value of a column in the row in which another column is greatest, or least."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenring.engine import kernel
from tokenring.operators.folds.called import Functions, functions_of
from tokenring.operators.folds.own.own_aggregate import ByColumn

STATE = np.dtype([("has_row", "int64"), ("order", "int64"), ("value", "int64")])


@kernel
def _init(state: Any) -> None:
    state.has_row, state.order, state.value = 0, 0, 0


@kernel
def _update(state: Any, value: int, order: int) -> None:
    if state.has_row == 0 or order > state.order:
        state.has_row, state.order, state.value = 1, order, value


@kernel
def _combine(state: Any, other: Any) -> None:
    if other.has_row != 0:
        _update(state, other.value, other.order)


@kernel
def _finalize(state: Any) -> int | None:
    return state.value if state.has_row != 0 else None


_ARG_MAX = functions_of("ArgMax", STATE, ("word", "order"), "same", _init, _update, _combine, _finalize)
_ARG_MIN = functions_of("ArgMin", STATE, ("word", "reverse"), "same", _init, _update, _combine, _finalize)


@dataclass(frozen=True, eq=False)
class ArgMax(ByColumn):
    """The value of `column` in the row in which `by` is greatest, of the column's kind; of equal ones in the first to
    arrive, and where workers aggregate their own rows first, in that of one of them. Rows in which either is null are
    left out; null where there is none. NaN counts only if there is nothing else."""

    @property
    def functions(self) -> Functions:
        """See OfFunctions."""
        return _ARG_MAX

    @property
    def _instead(self) -> str:
        return "top by that order with k=1, which in a collection may be text"


class ArgMin(ArgMax):
    """The value of `column` in the row in which `by` is least; see ArgMax."""

    @property
    def functions(self) -> Functions:
        """See OfFunctions."""
        return _ARG_MIN
