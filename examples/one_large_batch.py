"""Five million rows given in one call: the engine cuts them, and a worker whose queues are full does other work.

    python examples/one_large_batch.py

    5000000 rows in 1000 groups, 250000195 in all
    group 0: 5000 rows, 249975
    group 1: 5000 rows, 249776
    group 2: 5000 rows, 249881
"""

import argparse

import numpy as np
import pyarrow.compute as pc

import tokenring as tr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def program(worker: tr.Worker) -> tr.Collected:
        with worker.dataflow("large") as scope:
            given, rows = scope.new_input(tr.Schema("group value"))
            sums = rows.aggregate("group", emit="final", rows=tr.Count(), total=tr.Sum("value"))
            collected = sums.collect()
        if worker.index == 0:
            number = np.arange(options.rows)
            given.send({"group": number % options.groups, "value": number * number % 101})
        return collected

    table = tr.gather(program, workers=options.workers).sort_by("group")
    rows, total = pc.sum(table["rows"]), pc.sum(table["total"])
    print(f"{rows} rows in {table.num_rows} groups, {total} in all")
    for group in table.slice(0, 3).to_pylist():
        print(f"group {group['group']}: {group['rows']} rows, {group['total']}")


if __name__ == "__main__":
    main()
