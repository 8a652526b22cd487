"""Keyed state in Python: a dictionary of what each user has spent at most, and a row for each new record.

Each user's rows come to one worker, which alone keeps that user's state.

    python examples/keyed_state.py
    python examples/keyed_state.py --file spent.csv     # columns number, user, spent

    row 0: user 1 spent 5, more than ever
    row 1: user 2 spent 3, more than ever
    row 3: user 1 spent 8, more than ever
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import tokenring as tr

SPENT = tr.Schema("number user spent")
SAMPLE = "number,user,spent\n0,1,5\n1,2,3\n2,1,4\n3,1,8\n4,2,3\n"


def records(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
    token.drop()  # it only answers
    most: dict[int, int] = {}  # user -> what that user has spent at most: the state of this worker's users

    def logic(rows: tr.InputPort, output: tr.OutputPort) -> None:
        for reference, batch in rows:
            kept = []
            for at, (user, spent) in enumerate(zip(batch["user"].tolist(), batch["spent"].tolist(), strict=True)):
                if spent > most.get(user, 0):
                    most[user] = spent
                    kept.append(at)
            output.give(reference, {name: batch[name][kept] for name in SPENT.names})

    return logic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder, "spent.csv")
        sample.write_text(SAMPLE)

        def pipeline(scope: tr.Scope) -> tr.Collected:
            rows = scope.read_csv(options.file or sample, SPENT)
            return rows.unary("records", SPENT, records, tr.Exchange("user"), tr.Notify.NEVER).collect()

        table = tr.run(pipeline, workers=options.workers)
    for row in table.sort_by("number").to_pylist():
        print(f"row {row['number']}: user {row['user']} spent {row['spent']}, more than ever")


if __name__ == "__main__":
    main()
