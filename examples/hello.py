"""Hello: feed an input, transform it, and let a probe say when a time is finished on all workers.

    python examples/hello.py
"""

from collections.abc import Callable

import tokenring as tr

VALUE = tr.Schema("value")


def square(context: tr.OperatorContext, token: tr.Token) -> Callable[[tr.InputPort, tr.OutputPort], None]:
    token.drop()  # it sends only in answer to messages, each of which brings a right to send

    def logic(numbers: tr.InputPort, squares: tr.OutputPort) -> None:
        for reference, batch in numbers:
            squares.give(reference, tr.Batch(VALUE, {"value": batch["value"] ** 2}))

    return logic


def show(context: tr.OperatorContext) -> Callable[[tr.InputPort], None]:
    def logic(squares: tr.InputPort) -> None:
        for reference, batch in squares:
            print(f"worker {context.worker_index}: time {reference.time}: {batch['value'].tolist()}")

    return logic


def program(worker: tr.Worker) -> None:
    with worker.dataflow("hello") as scope:
        numbers, stream = scope.new_input(VALUE)
        squares = stream.unary("square", VALUE, square, notify=tr.Notify.NEVER)
        shown = squares.sink("show", show, notify=tr.Notify.NEVER)  # a probe: what the sinks have still to take
    for time in range(3):
        numbers.send({"value": [10 * time + worker.index]})
        numbers.advance_to(time + 1)
        worker.step_while(lambda: shown.less_than(time + 1))  # noqa: B023 - called before `time` moves on
        print(f"worker {worker.index}: the squares of time {time} are shown on all workers")


if __name__ == "__main__":
    tr.execute(program, workers=2)
