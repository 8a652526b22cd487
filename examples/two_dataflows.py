"""Two dataflows in one group: they share processes, queues and the ring, and not time.

What the first finds is fed to the second; that the second's input stands still meanwhile holds nothing up in the first.

    python examples/two_dataflows.py
"""

from collections.abc import Callable

from engine import (
    Broadcast,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Pact,
    Schema,
    Stream,
    Token,
    Worker,
    execute,
)

VALUE = Schema("value")


def add_to(sums: list[int], stream: Stream, pact: Pact) -> Stream:
    """Add what arrives on this worker to `sums[0]`. Nothing is ever sent on the output: it is there to be probed.

    A probe before an operator tells what may still be sent to it; one behind it, what it may still have to take.
    """

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for _, batch in rows:
                sums[0] += int(batch["value"].sum())

        return logic

    return stream.unary("add", VALUE, construct, pact, Notify.NEVER)


def program(worker: Worker) -> list[int]:
    part, total = [0], [0]
    with worker.dataflow("parts") as scope:
        values, stream = scope.new_input(VALUE)
        parts_probe = add_to(part, stream, Exchange("value")).probe()
    with worker.dataflow("totals") as scope:
        parts, stream = scope.new_input(VALUE)
        totals_probe = add_to(total, stream, Broadcast()).probe()

    values.send({"value": range(100 * worker.index, 100 * worker.index + 100)})
    values.close()
    worker.step_while(lambda: not parts_probe.done())
    print(f"worker {worker.index}: the first dataflow is done, the second still at time {totals_probe.frontier}")
    parts.send({"value": part})
    parts.close()
    worker.step_while(lambda: not totals_probe.done())
    return [part[0], total[0]]


if __name__ == "__main__":
    results = execute(program, workers=2)
    print(f"parts add up: {sum(part for part, _ in results)}; every worker's total: {[total for _, total in results]}")
