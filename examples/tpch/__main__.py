"""TPC-H kept up to date: an answer, then what it costs to keep it while orders and their lines come and go.

    python -m examples.tpch --query q3 --scale 0.01 --workers 2
    python -m examples.tpch --query q1 --folder tables      # that `tpchgen-cli parquet --output-dir tables` wrote

Needs tpchgen-cli, from PyPI, unless there are tables. Money is shown as whole numbers: see queries.py.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.tpch.kept import answer_at, keep
from examples.tpch.queries import QUERIES
from examples.tpch.tables import EPOCHS, generate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", choices=list(QUERIES), default="q3")
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--folder", type=Path, help="tables that are there already")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=5, help="of each answer, that are shown")
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = options.folder
        if folder is None:
            folder = Path(scratch)
            generate(folder, options.scale)
        parts, seconds = keep(folder, options.query, options.workers, EPOCHS)
    for epoch, taken in enumerate(seconds):
        rows = sorted(answer_at(parts, epoch), key=str)
        print(f"epoch {epoch}: {len(rows)} rows, {1e3 * taken:.1f} ms")
        for row in rows[: options.rows]:
            print("   ", *row)


if __name__ == "__main__":
    main()
