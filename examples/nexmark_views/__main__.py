"""NEXMark's queries as views over staged events: each epoch adds as many, and the answer is there at every epoch.

    tokenring stage --out events --events 100_000
    python -m examples.nexmark_views --input events --query q4 --workers 2
"""

import argparse
from pathlib import Path

from examples.nexmark_views.kept import answer_at, keep
from examples.nexmark_views.queries import QUERIES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--query", choices=list(QUERIES), default="q4")
    parser.add_argument("--epoch-events", type=int, default=25_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    changes = keep(options.input, options.query, options.workers, options.epoch_events)
    for epoch in range(max(changes["epoch"].to_pylist(), default=0) + 1):
        rows = answer_at(changes, epoch)
        print(f"epoch {epoch}: {rows.num_rows:,} rows")
        for row in rows.slice(0, 3).to_pylist():
            print("   ", *[f"{name}={value}" for name, value in row.items()])


if __name__ == "__main__":
    main()
