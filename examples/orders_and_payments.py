"""Orders beside their payments, where numbers may be missing: null, which equals nothing, not even null, as in SQL.

    python examples/orders_and_payments.py
    python examples/orders_and_payments.py --orders orders.csv --payments payments.csv

    paid: order 1 of Ada, 20
    paid: order 1 of Ada, 10
    not paid that day: order 2 of Bob
    not paid that day: order None of Cy
"""

import argparse
import tempfile
from pathlib import Path

import tokenring as tr

ORDER = tr.Schema("day", order="int64?", by="string?")
PAYMENT = tr.Schema("day amount", order="int64?")
ORDERS = "day,order,by\n1,1,Ada\n1,2,Bob\n1,,Cy\n"
PAYMENTS = "day,order,amount\n1,1,20\n1,1,10\n1,,99\n2,2,5\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders")
    parser.add_argument("--payments")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = options.orders or f"{folder}/orders.csv", options.payments or f"{folder}/payments.csv"
        Path(folder, "orders.csv").write_text(ORDERS)
        Path(folder, "payments.csv").write_text(PAYMENTS)

        def pipeline(scope: tr.Scope) -> tr.Collected:
            orders = scope.read_csv(paths[0], ORDER, time="day")
            payments = scope.read_csv(paths[1], PAYMENT, time="day")
            columns = ("left.day", "left.order", "by", "amount")
            joined = orders.join(
                payments, on="order", columns=columns, window=tr.Tumbling("day", 1), how="left"
            )
            return joined.collect()

        table = tr.run(pipeline, workers=options.workers)
    for row in table.sort_by([("order", "ascending"), ("by", "ascending"), ("amount", "descending")]).to_pylist():
        paid = row["amount"] is not None
        of = f"order {row['order']} of {row['by']}"
        print(f"paid: {of}, {row['amount']}" if paid else f"not paid that day: {of}")


if __name__ == "__main__":
    main()
