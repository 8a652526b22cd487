"""ApproxQuantile: a quantile by a sketch of flat size: counts of values by buckets whose bounds rise by a factor.

The sketch is DDSketch (Masson et al., VLDB 2019), with the uniform collapse of UDDSketch (Epicoco et al., 2020): where
there are too many buckets, each becomes one with its neighbour, so that all have the same error, and what is left
depends on the values alone, not on the order in which they came or who combined them.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenring.engine import SchemaError, kernel
from tokenring.engine.compiled import Words, signed
from tokenring.operators.folds.called import Functions, functions_of
from tokenring.operators.folds.own.own_aggregate import OfFunctions

_BUCKETS = 507
STATE = np.dtype(
    [
        ("rows", "int64"), ("level", "int64"), ("used", "int64"), ("least", "float64"), ("greatest", "float64"),
        ("buckets", "int64", (_BUCKETS,)),
    ]
)  # fmt: skip
"""rows: NaN among them. level: how often buckets have collapsed. buckets: `used` of them, in order of value, each
number << _COUNT_BITS plus how many values: values of (factor**(number - 1 - _ZERO), factor**(number - _ZERO)], the same
below 0 with a negative number; 0 is bucket 0."""
_ERROR = 0.01
_LOG_FACTOR = math.log((1 + _ERROR) / (1 - _ERROR))
_COUNT_BITS = 44
_HALF = 1 << _COUNT_BITS - 1
_ZERO = 1 << 17
_INFINITE = 1 << 18


@kernel
def _init(state: Any) -> None:
    state.rows, state.level, state.used, state.least, state.greatest = 0, 0, 0, math.inf, -math.inf


@kernel
def _collapsed(number: int, times: int) -> int:
    """The bucket that a bucket is in after it has collapsed so often."""
    size = abs(number)
    if size == 0 or size == _INFINITE:
        return number
    size = _ZERO - ((_ZERO - size) >> times)
    return size if number > 0 else -size


@kernel
def _number(value: float) -> int:
    """The bucket of a value, before any has collapsed."""
    size = abs(value)
    if size == 0.0:
        return 0
    at = _INFINITE if size == math.inf else _ZERO + signed(math.ceil(math.log(size) / _LOG_FACTOR))
    return at if value > 0 else -at


@kernel
def _number_of(bucket: int) -> int:
    return (bucket + _HALF) >> _COUNT_BITS


@kernel
def _collapse(state: Any) -> None:
    """Let each bucket become one with its neighbour."""
    used = 0
    for i in range(state.used):
        number = _number_of(state.buckets[i])
        count, number = state.buckets[i] - (number << _COUNT_BITS), _collapsed(number, 1)
        if used > 0 and _number_of(state.buckets[used - 1]) == number:
            state.buckets[used - 1] += count
        else:
            state.buckets[used] = (number << _COUNT_BITS) + count
            used += 1
    state.used = used
    state.level += 1


@kernel
def _add(state: Any, number: int, count: int) -> bool:
    """Add values of a bucket; False where there is no room for it."""
    low, high, sought = 0, state.used, (number << _COUNT_BITS) - _HALF
    while low < high:
        middle = (low + high) >> 1
        if state.buckets[middle] < sought:
            low = middle + 1
        else:
            high = middle
    if low < state.used and _number_of(state.buckets[low]) == number:
        state.buckets[low] += count
        return True
    if state.used == _BUCKETS:
        return False
    for i in range(state.used, low, -1):
        state.buckets[i] = state.buckets[i - 1]
    state.buckets[low] = (number << _COUNT_BITS) + count
    state.used += 1
    return True


@kernel
def _update(state: Any, value: float) -> None:
    state.rows += 1
    if value != value:
        return
    state.least, state.greatest = min(state.least, value), max(state.greatest, value)
    number = _number(value)
    while not _add(state, _collapsed(number, state.level), 1):
        _collapse(state)


@kernel
def _combine(state: Any, other: Any) -> None:
    state.rows += other.rows
    state.least, state.greatest = min(state.least, other.least), max(state.greatest, other.greatest)
    while state.level < other.level:
        _collapse(state)
    for i in range(other.used):
        number = _number_of(other.buckets[i])
        count = other.buckets[i] - (number << _COUNT_BITS)
        while not _add(state, _collapsed(number, state.level - other.level), count):
            _collapse(state)


@kernel
def _middle(number: int, level: int) -> float:
    """The value that is as far, by its ratio, from both bounds of a bucket."""
    size, log_factor = abs(number), _LOG_FACTOR * (1 << level)
    value = math.inf
    if size == 0:
        value = 0.0
    elif size != _INFINITE:
        value = math.exp((size - _ZERO) * log_factor) * 2 / (1 + math.exp(log_factor))
    return value if number > 0 else -value


@kernel
def _finalize(state: Any, parameters: Words) -> float | None:
    if state.rows == 0:
        return None
    count = 0
    for i in range(state.used):
        count += state.buckets[i] - (_number_of(state.buckets[i]) << _COUNT_BITS)
    if count == 0:
        return math.nan
    rank, before, value = np.int64(math.floor(parameters[0] * (count - 1))), 0, state.greatest
    if rank == 0:
        return state.least
    if rank == count - 1:
        return state.greatest
    for i in range(state.used):
        number = _number_of(state.buckets[i])
        before += state.buckets[i] - (number << _COUNT_BITS)
        if before > rank:
            value = _middle(number, state.level)
            break
    return min(max(value, state.least), state.greatest)


_QUANTILE = functions_of("ApproxQuantile", STATE, ("float64",), "float64", _init, _update, _combine, _finalize)


@dataclass(frozen=True, eq=False)
class ApproxQuantile(OfFunctions):
    """The value, float64, below which the part `q` of all values lies: q=0.5 is the median. Of n values in order it is
    number floor(q * (n - 1)), from 0, with a relative error of at most 1 % where all values are positive and none more
    than 25 000 times another; of 2 % up to 6e8 times, 4 % up to 4e17 times, and so on. Values of both signs, and 0,
    share 507 buckets, each 2 % wide, which get twice as wide each time that there are more. The least and the greatest
    value are exact. NaN counts only if there is nothing else.

    The result depends on the values alone, not on their order or on the number of workers. Memory: 4 kB for each key
    (and window, or pane); several quantiles of one column share it. What crosses between workers has 512 columns for
    it, and wants queues of 256 kB (Config.queue_bytes; by default they have 2 MB).
    """

    q: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.q, bool) or not (isinstance(self.q, int | float) and 0 <= self.q <= 1):
            raise SchemaError(f"ApproxQuantile(..., q={self.q!r}): give a number from 0 to 1; 0.5 is the median")

    @property
    def functions(self) -> Functions:
        """See OfFunctions."""
        return _QUANTILE

    @property
    def parameters(self) -> tuple[float, ...]:
        """See OfFunctions."""
        return (float(self.q),)
