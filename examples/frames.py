"""Tables of pandas, Polars and Arrow in, and tables of pandas, Polars and Arrow out; nulls stay nulls.

All three hand their columns over as Arrow's, without a copy where their kinds allow it. Polars computes here, before
the run and behind it: it has threads, which forked workers do not have, so there it only hands its columns over.

    python examples/frames.py                 # needs polars: pip install polars

    pandas: Bern None, Oslo 7, Rome 5, as pandas itself says: True
    polars: Bern None, Oslo 7, Rome 5, as polars itself says: True
    pyarrow: Bern None, Oslo 7, Rome 5, as pyarrow itself says: True
"""

import argparse
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import tokenring as tr

CITIES, SOLD = ["Oslo", "Rome", "Oslo", "Bern", "Rome"], [4, 5, 3, None, None]


def totals(table: Any, workers: int) -> pa.Table:
    """What was sold in each city, of a table of any of the three, as an Arrow table."""

    def pipeline(scope: tr.Scope) -> tr.Collected:
        return scope.read_arrow(table).aggregate("city", emit="final", sold=tr.Sum("sold")).collect()

    return tr.run(pipeline, workers=workers).sort_by("city")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="so many random ones instead of the five above")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    cities, sold = CITIES, SOLD
    if options.rows:
        random = np.random.default_rng(1)
        cities = random.choice(["Oslo", "Rome", "Bern"], options.rows).tolist()
        sold = [None if value % 10 == 0 else value for value in random.integers(0, 1000, options.rows).tolist()]

    frame = pd.DataFrame({"city": cities, "sold": pd.array(sold, "Int64")})
    of_pandas = totals(frame, options.workers).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    own = frame.groupby("city", as_index=False).sum(min_count=1)
    say("pandas", of_pandas.to_dict("records"), own.to_dict("records"))

    lazy = pl.DataFrame({"city": cities, "sold": sold})
    of_polars = pl.DataFrame(totals(lazy, options.workers))
    summed = pl.when(pl.col("sold").count() > 0).then(pl.col("sold").sum())
    say("polars", of_polars.to_dicts(), lazy.group_by("city").agg(summed).sort("city").to_dicts())

    table = pa.table({"city": cities, "sold": sold})
    own = table.group_by("city").aggregate([("sold", "sum")]).rename_columns(["city", "sold"]).sort_by("city")
    say("pyarrow", totals(table, options.workers).to_pylist(), own.to_pylist())


def say(library: str, ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    rows = [(row["city"], None if row["sold"] is pd.NA else row["sold"]) for row in ours]
    same = rows == [(row["city"], None if row["sold"] is pd.NA else row["sold"]) for row in theirs]
    print(f"{library}: {', '.join(f'{city} {sold}' for city, sold in rows)}, as {library} itself says: {same}")


if __name__ == "__main__":
    main()
