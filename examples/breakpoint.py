"""Breakpoint: hold a window query at a time, look at its open windows, ask why time stands still, and let it go on.

    python examples/breakpoint.py
"""

from collections.abc import Callable
from pathlib import Path

import tokenring as tr

WIDTH = 10


def window_counts(stream: tr.Stream) -> tr.Stream:
    """How many rows each window had, sent once the window has ended."""

    def construct(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
        token.drop()
        windows: dict[int, tuple[tr.Token, int]] = {}  # end -> (token at the end, rows so far)
        context.inspectable(lambda: {end: rows for end, (_, rows) in sorted(windows.items())})

        def logic(rows: tr.InputPort, output: tr.OutputPort) -> None:
            for reference, batch in rows:
                end = (reference.time // WIDTH + 1) * WIDTH
                if end not in windows:
                    held = reference.retain()
                    held.downgrade(end)
                    windows[end] = held, 0
                held, count = windows[end]
                windows[end] = held, count + batch.rows
            for end in [end for end in windows if end <= rows.frontier]:
                held, count = windows.pop(end)
                output.give(held, {"end": [end], "rows": [count]})
                held.drop()

        return logic

    return stream.unary("windows", tr.Schema("end rows"), construct, tr.Exchange("user"), tr.Notify.IF_TOKEN)


def program(worker: tr.Worker) -> None:
    with worker.dataflow("clicks") as scope:
        clicks, stream = scope.new_input(tr.Schema("user"))
        counts = window_counts(stream)
        rows = counts.collect()
        probe = counts.probe()
    with scope.running.hold("windows", 15) as hold:  # nobody passes time 15 at the input of `windows`
        for time in range(0, 40, 2):
            clicks.advance_to(time)
            clicks.send({"user": [0, 1, 2]})
        clicks.close()
        while worker.step():  # all rows go in; the first window ends, the others cannot
            pass
        print(f"held at {hold.time}; the frontier behind the query is {probe.frontier}")
        print(f"open windows: {scope.running.inspect('windows')}")
        print(str(scope.running.why("windows")).replace(str(Path(__file__).parent), "examples"))
    worker.run()
    print("released:", dict(zip(*(column.tolist() for column in rows.columns().values()), strict=True)))


if __name__ == "__main__":
    tr.execute(program, workers=1)
