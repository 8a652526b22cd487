"""An operator whose state moves: the total so far of each key's values, with the worker that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokenring.engine import COMPLETE, Batch, Exchange, InputPort, Notify, OutputPort, Schema, Time
from tokenring.operators.migrate import Leaving, Table, offer, state_moves

ROWS = Schema("key value")
KEPT = Schema("key total")
TOTALS = Schema("key total worker")


class Kept:
    """One worker's totals."""

    def __init__(self) -> None:
        self.totals: dict[int, int] = {}

    def take_out(self, leaving: Leaving) -> list[Batch]:
        """What leaves is forgotten here."""
        keys = np.array(sorted(self.totals), np.int64)
        chosen = keys[leaving.words(keys)].tolist()
        return [Batch(KEPT, {"key": chosen, "total": [self.totals.pop(key) for key in chosen]})]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """What comes was not here."""
        for key, total in zip(tables[0]["key"].tolist(), tables[0]["total"].tolist(), strict=True):
            assert key not in self.totals
            self.totals[key] = total
        return COMPLETE


def totals(stream: Any) -> Any:
    """The stream of TOTALS, a row for each row."""
    builder = stream.scope.operator("totals", Notify.NEVER)
    builder.input(stream, Exchange("key"))
    output = builder.output(TOTALS)
    state_moves(builder, [Table(KEPT, ("key",))])

    def construct(context: Any, token: Any) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        kept = Kept()
        offer(kept)

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                made = []
                for key, value in zip(batch["key"].tolist(), batch["value"].tolist(), strict=True):
                    kept.totals[key] = kept.totals.get(key, 0) + value
                    made.append(kept.totals[key])
                columns = {"key": batch["key"], "total": made, "worker": [context.worker_index] * batch.rows}
                output.give(reference, Batch(TOTALS, columns))

        return logic

    builder.build(construct)
    return output


def fed_until(worker: Any, moves: Callable[[Any], Any], keys: int = 40, bins: int = 16, ask_at: int = 3) -> Any:
    """Declare totals in so many bins, feed a row of each key at each time, from worker 0; at `ask_at` worker 0 calls
    `moves(placement)`, and goes on until all it asked for has arrived. All workers then run to the end.

    Returns the placement, what was seen of (time, key, total, worker), and how many times there were.
    """
    seen: list[tuple[int, ...]] = []
    with worker.dataflow("totals", bins=bins) as scope:
        handle, rows = scope.new_input(ROWS)
        placement = scope.placement
        made = totals(rows)
        made.for_each(lambda time, batch: seen.extend(rows_of(time, batch)))
        probe = made.probe()
    time = 0
    if worker.index == 0:
        while time <= ask_at or placement.is_moving:
            if time == ask_at:
                moves(placement)
            handle.send({"key": list(range(keys)), "value": list(range(keys))})
            time += 1
            handle.advance_to(time)
            worker.step_while(lambda now=time: probe.less_than(now))
    handle.close()
    worker.run()
    return placement, seen, time


def rows_of(time: int, batch: Batch) -> list[tuple[int, ...]]:
    """(time, key, total, worker) of each row."""
    columns = [batch[name].tolist() for name in TOTALS.names]
    return [(time, *row) for row in zip(*columns, strict=True)]


def are_right(seen: Sequence[tuple[int, ...]], keys: int, times: int) -> bool:
    """Whether these are the totals of `fed_until`, each once."""
    expected = {(time, key, key * (time + 1)) for time in range(times) for key in range(keys)}
    return len(seen) == len(expected) and {row[:3] for row in seen} == expected
