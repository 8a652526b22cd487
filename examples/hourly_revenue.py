"""Revenue by hour and shop from a CSV file with empty fields, and with rows that come too late.

Rows are in order of time up to an hour. What is later than that is not dropped: it goes to a stream of its own.

    python examples/hourly_revenue.py                 # the six sales below
    python examples/hourly_revenue.py sales.csv       # columns number, at, shop, amount

    2026-03-01 09:00 None: 1 sale(s), 4.00
    2026-03-01 09:00 Bern: 1 sale(s), 10.50
    2026-03-01 09:00 Uri: 1 sale(s), 2.00
    2026-03-01 10:00 Bern: 1 sale(s), unknown
    2026-03-01 12:00 Bern: 1 sale(s), 7.00
    too late: sale 6, of 2026-03-01 09:30
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import tokenring as tr

SALE = tr.Schema("number", at="timestamp", shop="string?", amount="float64?")  # the kinds with `?` may be empty: null
SAMPLE = """number,at,shop,amount
1,2026-03-01T09:05,Bern,10.5
2,2026-03-01T09:50,,4
3,2026-03-01T10:20,Bern,
4,2026-03-01T09:59,Uri,2
5,2026-03-01T12:20,Bern,7
6,2026-03-01T09:30,Uri,100
"""


def report(path: str, block_bytes: int, workers: int) -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("revenue") as scope:
            sales, late = scope.read_csv(path, SALE, time="at", disorder="1h", late=True, block_bytes=block_bytes)
            hourly = sales.aggregate(
                "shop", window=tr.Tumbling("at", "1h"), sales=tr.Count(), revenue=tr.Sum("amount")
            )
            hours, too_late = hourly.collect(), late.collect()
        worker.run()
        return hours.to_arrow(), too_late.to_arrow()

    parts = tr.execute(program, workers=workers)
    hours = [row for hours, _ in parts for row in hours.to_pylist()]
    for row in sorted(hours, key=lambda row: (row["window_start"], row["shop"] or "")):
        revenue = "unknown" if row["revenue"] is None else f"{row['revenue']:.2f}"
        print(f"{row['window_start']:%Y-%m-%d %H:%M} {row['shop']}: {row['sales']} sale(s), {revenue}")
    for row in sorted((row for _, late in parts for row in late.to_pylist()), key=lambda row: row["at"]):
        print(f"too late: sale {row['number']}, of {row['at']:%Y-%m-%d %H:%M}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?")
    parser.add_argument("--block-bytes", type=int, default=1 << 18, help="rows are put in order within a block")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.path is not None:
        report(options.path, options.block_bytes, options.workers)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sales.csv"
        path.write_text(SAMPLE)
        report(str(path), 62, 1)  # two sales a block, of one worker, so that there is something to see


if __name__ == "__main__":
    main()
