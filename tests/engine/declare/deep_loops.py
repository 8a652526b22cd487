"""As many loops as are asked for, one in the other: a row goes round in each until its number lets it out. Prints what
the innermost one has seen, times included, and what came out: worker by worker, as Python writes it.

    python deep_loops.py DEPTH WORKERS
"""

from __future__ import annotations

import sys
from typing import Any

import tokenring as tr

ROW = tr.Schema("value")
EPOCHS = [[40, 7], [23], [12, 1, 30]]


def noted(seen: list[tuple[tuple[int, ...], int]]) -> Any:
    """An operator of Python's that writes down what comes, and sends it one less."""

    def constructor(context: Any, out: Any) -> Any:
        out.drop()

        def logic(rows: Any, out: Any) -> None:
            for reference, batch in rows.by_time():
                seen.extend((reference.time, value) for value in batch["value"].tolist())
                out.give(reference, {"value": batch["value"] - 1})

        return logic

    return constructor


def nested(scope: Any, rows: Any, level: int, deepest: int, seen: list[Any]) -> Any:
    """What comes out of loop number `level`, and those within it."""
    with scope.loop(f"loop {level}") as loop:
        back = loop.feedback(ROW)
        head = loop.enter(rows).union(back.stream)
        if level < deepest:
            after = nested(loop, head, level + 1, deepest, seen)
        else:
            builder = loop.operator("note", tr.Notify.NEVER)
            builder.input(head, tr.Exchange("value"))
            after = builder.output(ROW)
            builder.build(noted(seen))
        stays = (tr.col("value") > 0) & (tr.col("value") % (level + 1) != 0)
        back.connect(after.filter(stays))
        leaves = after.filter(~stays)
    return loop.leave(leaves)


def main(deepest: int, workers: int) -> None:
    """Run it, and print."""

    def program(worker: Any) -> Any:
        seen: list[Any] = []
        with worker.dataflow("deep") as scope:
            numbers, rows = scope.new_input(ROW)
            out = nested(scope, rows, 1, deepest, seen)
            collected, probe = out.collect(), out.probe()
        for epoch, values in enumerate(EPOCHS):
            if worker.index == 0:
                numbers.send({"value": values})
            numbers.advance_to(epoch + 1)
        worker.step_while(lambda: probe.less_than(len(EPOCHS)))
        return seen, collected.columns()["value"].tolist()

    print(tr.execute(program, workers=workers))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
