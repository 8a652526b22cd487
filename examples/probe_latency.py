"""Latency of a probe: the time from sending one row until every worker is known to be done with it.

Each round exchanges a row and waits for the frontier behind the exchange to pass its time: a message goes through the
data plane, the news of it and of its consumption through the progress plane.

    python examples/probe_latency.py --rounds 2000
"""

import argparse
import time
from collections.abc import Callable

import tokenring as tr

VALUE = tr.Schema("value")


def forward(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
    token.drop()

    def logic(rows: tr.InputPort, output: tr.OutputPort) -> None:
        for reference, batch in rows:
            output.give(reference, batch)

    return logic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def program(worker: tr.Worker) -> list[int]:
        with worker.dataflow("latency") as scope:
            rows, stream = scope.new_input(VALUE)
            probe = stream.unary("forward", VALUE, forward, tr.Exchange("value"), tr.Notify.NEVER).probe()
        if worker.index > 0:
            rows.close()  # only worker 0 feeds; the others' tokens must not hold its times back
            return []
        taken_ns = []
        for round_ in range(options.rounds):
            started_ns = time.monotonic_ns()
            rows.send({"value": [round_]})
            rows.advance_to(round_ + 1)
            worker.step_while(lambda: probe.less_than(round_ + 1))  # noqa: B023
            taken_ns.append(time.monotonic_ns() - started_ns)
        return sorted(taken_ns)

    taken_ns = tr.execute(program, workers=options.workers)[0]
    quantiles = [(name, taken_ns[int(share * (len(taken_ns) - 1))]) for name, share in (("p50", 0.5), ("p99", 0.99))]
    shown = ", ".join(f"{name} {value / 1000:.1f} us" for name, value in [*quantiles, ("max", taken_ns[-1])])
    print(f"{len(taken_ns)} rounds on {options.workers} workers: {shown}")


if __name__ == "__main__":
    main()
