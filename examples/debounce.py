"""A debounce: of readings that follow each other too quickly, only the last, once it has been quiet for long enough.

An operator of one's own, written with tokens. It holds one token, at the least time at which it may still have
something to say; when the frontier has reached that time, nothing can come that would disturb the quiet before it.

    python examples/debounce.py

    button 1, pressed at 14, settled at 24
    button 2, pressed at 3, settled at 13
    button 2, pressed at 30, settled at 40
"""

import argparse
from bisect import insort
from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush

import pyarrow as pa

import tokenring as tr

PRESSED = tr.Schema("button at")
SETTLED = tr.Schema("button at settled")


def debounce(presses: tr.Stream, quiet: int) -> tr.Stream:
    """The rows of each button that no other follows in less than `quiet`, at that much later; rows in any order."""

    def construct(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
        token.drop()  # it speaks only of what has come
        held: tr.Token | None = None  # the right to speak at the least time that waits
        waiting: list[tuple[int, int]] = []  # a heap of (time at which it settles, button)
        times: defaultdict[int, list[int]] = defaultdict(list)  # of each button, those that wait, in order

        def logic(rows: tr.InputPort, settled: tr.OutputPort) -> None:
            nonlocal held
            for reference, batch in rows:
                for button, at in zip(batch["button"].tolist(), batch["at"].tolist(), strict=True):
                    heappush(waiting, (at + quiet, button))
                    insort(times[button], at)
                if held is None or waiting[0][0] < held.time:
                    if held is not None:
                        held.drop()
                    held = reference.retain()
                    held.downgrade(waiting[0][0])
            while held is not None and waiting[0][0] <= rows.frontier:
                due, button = heappop(waiting)
                at = times[button].pop(0)
                if not times[button] or times[button][0] >= due:
                    settled.give(held, {"button": [button], "at": [at], "settled": [due]})
                if waiting:
                    held.downgrade(waiting[0][0])  # others may go on to there
                else:
                    held.drop()
                    held = None

        return logic

    return presses.unary("debounce", SETTLED, construct, tr.Exchange("button"), tr.Notify.IF_TOKEN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quiet", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--file", help="a Parquet file with columns button and at")
    options = parser.parse_args()

    def pipeline(scope: tr.Scope) -> tr.Collected:
        if options.file is None:
            sample = pa.table({"button": [1, 1, 2, 1, 2], "at": [7, 14, 3, 9, 30]})
            presses = scope.read_arrow(sample, time="at")
        else:
            presses = scope.read_parquet(options.file, time="at")
        return presses.pipe(debounce, options.quiet).collect()

    rows = tr.run(pipeline, workers=options.workers).to_pylist()
    for row in sorted(rows, key=lambda row: (row["button"], row["at"])):
        print(f"button {row['button']}, pressed at {row['at']}, settled at {row['settled']}")


if __name__ == "__main__":
    main()
