"""Orders that are staged once, and then read in order of time by every run: mapped, and with ids known to be unique.

    python examples/staged_orders.py

    Ada: 2 payment(s), 30
    Bob: 1 payment(s), 5
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import tokenring as tr

ORDERS = "id,at,by\n3,30,Bob\n1,10,Ada\n2,20,Ada\n"  # in no order
PAYMENTS = "order,at,amount\n1,11,10\n2,25,20\n3,31,5\n9,40,1\n"


def stage(file: Path, folder: Path, *options: str) -> None:
    """What one says in a shell: tokenring stage --from orders.csv --time at --out staged --unique id"""
    given = ["--from", str(file), "--time", "at", "--out", str(folder), *options]
    command = [sys.executable, "-m", "tokenring", "stage", *given]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "orders.csv").write_text(ORDERS)
        (folder / "payments.csv").write_text(PAYMENTS)
        stage(folder / "orders.csv", folder / "staged", "--unique", "id")
        stage(folder / "payments.csv", folder / "staged")

        def pipeline(scope: tr.Scope) -> tr.Collected:
            orders = scope.read_staged(folder / "staged", "orders")
            payments = scope.read_staged(folder / "staged", "payments", columns="order amount")
            # A payment is kept until its order has come, and no longer: the manifest says that ids are unique.
            paid = payments.join(orders, on={"order": "id"}, columns="by amount")
            return paid.aggregate("by", payments=tr.Count(), total=tr.Sum("amount"), emit="final").collect()

        table = tr.run(pipeline, workers=options.workers)
    for row in table.sort_by("by").to_pylist():
        print(f"{row['by']}: {row['payments']} payment(s), {row['total']}")


if __name__ == "__main__":
    main()
