"""Collatz: halve what is even, take three times and one more of what is odd, until it is 1. A loop, a round a step.

Numbers go round at times (0, round) and leave when they are 1; the round they leave at is how many steps they took.
Nothing separates the rounds here, since no number waits for another: the operator looks at no frontier and holds no
token. The probe behind the loop shows when all are through: each number under way keeps it at 0.

    python examples/collatz.py --numbers 1000000 --workers 2
"""

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

import tokenring as tr

GOING = tr.Schema("start value")
STEPS = tr.Schema("start steps")


@tr.kernel(tr.int64(tr.COLUMN, tr.COLUMN, tr.WORDS, tr.WORDS, tr.WORDS))
def step(starts, values, going_starts, going_values, done):  # type: ignore[no-untyped-def]
    """One step of each number that is not 1; returns how many those are. done: the starts of the others."""
    going = 0
    for i in range(len(starts)):
        if values[i] == 1:
            done[i - going] = starts[i]
        else:
            going_starts[going] = starts[i]
            going_values[going] = values[i] // 2 if values[i] % 2 == 0 else 3 * values[i] + 1
            going += 1
    return going


def collatz(context: tr.OperatorContext, go_on: tr.Token, leave: tr.Token) -> Callable[..., None]:
    go_on.drop()
    leave.drop()

    def logic(numbers: tr.InputPort, again: tr.OutputPort, done: tr.OutputPort) -> None:
        for reference, batch in numbers.by_time():  # what waits of one round as one batch
            starts, values, ended = np.empty((3, batch.rows), np.int64)
            going = step(batch["start"], batch["value"], starts, values, ended)
            again.give(reference, tr.Batch(GOING, {"start": starts[:going], "value": values[:going]}))
            ended = ended[: batch.rows - going]
            done.give(reference, tr.Batch(STEPS, {"start": ended, "steps": np.full(len(ended), reference.time[1])}))

    return logic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def program(worker: tr.Worker) -> list[int]:
        with worker.dataflow("collatz") as scope:
            numbers, stream = scope.new_input(GOING)
            with scope.loop("steps") as loop:
                back = loop.feedback(GOING)
                head = loop.enter(stream).union(back.stream)
                builder = loop.operator("collatz", tr.Notify.NEVER)
                builder.input(head)
                again, done = builder.output(GOING), builder.output(STEPS)
                builder.build(collatz)
                back.connect(again)
            left = loop.leave(done)
            ended = left.collect()
            probe = left.probe()
        mine = range(1 + worker.index, options.numbers, worker.peers)
        numbers.send({"start": mine, "value": mine})
        numbers.advance_to(1)
        worker.step_while(lambda: probe.less_than(1))  # until none goes round any more
        starts, steps = ended.columns()["start"], ended.columns()["steps"]
        longest = int(np.lexsort((starts, -steps))[0])
        return [len(starts), int(steps.sum()), int(steps[longest]), int(starts[longest])]

    start = perf_counter()
    parts = tr.execute(program, workers=options.workers)
    seconds = perf_counter() - start
    longest, first = max((steps, -number) for *_, steps, number in parts)
    print(f"{sum(part[0] for part in parts)} numbers took {sum(part[1] for part in parts)} steps to 1")
    print(f"{-first} took most: {longest}")
    print(f"on {options.workers} worker(s) in {seconds:.1f} s")


if __name__ == "__main__":
    main()
