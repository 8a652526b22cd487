"""Two dataflows in one group: they share processes, queues and the ring, and not time.

What the first finds is fed to the second; that the second's input stands still meanwhile holds nothing up in the first.

    python examples/two_dataflows.py
"""

from collections.abc import Callable

import tokenring as tr

VALUE = tr.Schema("value")

Construct = Callable[[tr.OperatorContext], Callable[[tr.InputPort], None]]


def adding_to(sums: list[int]) -> Construct:
    """The constructor of a sink that adds what arrives on its worker to `sums[0]`."""

    def construct(context: tr.OperatorContext) -> Callable[[tr.InputPort], None]:
        def logic(rows: tr.InputPort) -> None:
            for _, batch in rows:
                sums[0] += int(batch["value"].sum())

        return logic

    return construct


def program(worker: tr.Worker) -> list[int]:
    part, total = [0], [0]
    with worker.dataflow("parts") as scope:
        values, stream = scope.new_input(VALUE)
        parts_taken = stream.sink("add", adding_to(part), tr.Exchange("value"), tr.Notify.NEVER)
    with worker.dataflow("totals") as scope:
        parts, stream = scope.new_input(VALUE)
        totals_taken = stream.sink("add", adding_to(total), tr.Broadcast(), tr.Notify.NEVER)

    values.send({"value": range(100 * worker.index, 100 * worker.index + 100)})
    values.close()
    worker.step_while(lambda: not parts_taken.done())
    print(f"worker {worker.index}: the first dataflow is done, the second still at time {totals_taken.frontier}")
    parts.send({"value": part})
    parts.close()
    worker.step_while(lambda: not totals_taken.done())
    return [part[0], total[0]]


if __name__ == "__main__":
    results = tr.execute(program, workers=2)
    print(f"parts add up: {sum(part for part, _ in results)}; every worker's total: {[total for _, total in results]}")
