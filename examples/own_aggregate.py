"""An aggregate of one's own as functions: the geometric mean of prices, by the hour and over two hours.

The functions are compiled before the group forks, as they are declared in this module; that wants the extra
`tokenring[kernels]`.

    python examples/own_aggregate.py
"""

import math
from typing import Any

import pyarrow as pa

import tokenring as tr


def begin(state: Any) -> None:
    """No row yet."""
    state.logarithms, state.count = 0.0, 0


def add(state: Any, price: Any) -> None:
    """One row more."""
    state.logarithms += math.log(price)
    state.count += 1


def combine(state: Any, other: Any) -> None:
    """All rows of another state: another worker's, or another part of a sliding window."""
    state.logarithms += other.logarithms
    state.count += other.count


def mean(state: Any) -> Any:
    """What the rows come to; None is null."""
    return math.exp(state.logarithms / state.count) if state.count > 0 else None


geometric_mean = tr.OwnAggregate(
    "geometric_mean", state=[("logarithms", "float64"), ("count", "int64")], takes="float64", gives="float64",
    init=begin, update=add, combine=combine, finalize=mean,
)  # fmt: skip

PRICES = pa.table({"minute": [5, 20, 65, 70, 130], "shop": [1, 1, 1, 2, 2], "price": [1, 100, 10, 8, 2]})


def program(worker: tr.Worker) -> None:
    """Shows the means of each shop."""
    with worker.dataflow("prices") as scope:
        prices = scope.read_arrow(PRICES)
        for title, window in (("an hour", tr.Tumbling("minute", 60)), ("two hours", tr.Sliding("minute", 120, 60))):
            means = prices.aggregate("shop", window=window, mean=geometric_mean("price"), dearest=tr.Max("price"))
            means.with_columns(mean=(tr.col("mean") * 10 + 0.5).cast("int64") / 10).inspect(name=title)


if __name__ == "__main__":
    tr.execute(program, workers=1)
