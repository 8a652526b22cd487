"""A source of one's own: it asks to be run again with `activate_after`, and moves its token on as it goes.

Between two ticks the worker sleeps. A source that saw `context.congested` sends nothing and looks again later.

    python examples/own_source.py --ticks 20 --every-ms 5
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

import tokenring as tr

TICK = tr.Schema("tick worker")


def ticker(scope: tr.Scope, ticks: int, every_ns: int) -> tr.Stream:
    """One row (tick, worker) at time `tick`, every `every_ns` nanoseconds, on each worker."""

    def construct(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.OutputPort], None]:
        due_ns = time.monotonic_ns()
        tick = 0

        def logic(output: tr.OutputPort) -> None:
            nonlocal due_ns, tick
            if not token.live:
                return
            now_ns = time.monotonic_ns()
            if now_ns >= due_ns and not context.congested:
                output.give(token, tr.Batch(TICK, {"tick": [tick], "worker": [context.worker_index]}))
                tick += 1
                due_ns += every_ns
                if tick == ticks:
                    token.drop()  # nothing more to say: the run can end
                    return
                token.downgrade(tick)  # a promise: nothing before `tick` any more
            context.activate_after(max(due_ns - now_ns, 100_000))

        return logic

    (stream,) = scope.source("ticker", (TICK,), construct)
    return stream


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=10)
    parser.add_argument("--every-ms", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def pipeline(scope: tr.Scope) -> tr.Collected:
        return ticker(scope, options.ticks, int(options.every_ms * 1e6)).collect()

    table = tr.run(pipeline, workers=options.workers)
    for worker in range(options.workers):
        ticks = table.filter(pc.equal(table["worker"], worker))["tick"].to_numpy()
        print(f"worker {worker}: {len(ticks)} ticks, in order: {bool((np.diff(ticks) > 0).all())}")


if __name__ == "__main__":
    main()
