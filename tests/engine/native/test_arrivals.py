"""Small messages of one time that come from peers are put together where they wait in a loop."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tokenring as tr
from tokenring import Batch, Schema, col, execute

ROWS = 20_000
SCHEMA = Schema("v round", text="string?")


class Seen:
    """Batches as they come: how many, and of which rows."""

    def __init__(self) -> None:
        self.batches = 0
        self.rows: Counter[tuple[int, str | None]] = Counter()

    def __call__(self, batch: Batch) -> Batch:
        self.batches += 1
        self.rows.update(zip(batch["v"].tolist(), batch["text"].tolist(), strict=True))
        return batch


def _sent(worker: tr.Worker) -> tuple[int, Counter[tuple[int, str | None]]]:
    seen = Seen()
    with worker.dataflow("sent") as scope:
        handle, rows = scope.new_input(SCHEMA)
        _around_a_loop(rows).map_batches(SCHEMA, seen).probe()
    if worker.index == 0:
        texts = [None if at % 7 == 0 else f"text {at % 100}" * (at % 5) for at in range(ROWS)]
        handle.send({"v": np.arange(ROWS) + 1, "round": np.zeros(ROWS, np.int64), "text": texts})
    handle.close()
    worker.run()
    return seen.batches, seen.rows


def _around_a_loop(rows: tr.Stream) -> tr.Stream:
    def body(around: tr.Stream) -> tr.Branches:
        onward = around.with_columns(round=col("round") + 1, v=col("v") * 7919 % 1_000_003)
        return onward.exchange("v").branch(col("round") < 15)

    return rows.iterate(body)


@pytest.mark.parametrize("workers", [2, 3])
def test_rows_that_go_round_do_not_come_one_by_one(workers: int) -> None:
    alone = execute(_sent, workers=1)
    found = execute(_sent, workers=workers)
    assert sum([rows for _, rows in found], Counter()) == alone[0][1]
    assert 3 * sum([batches for batches, _ in found]) < ROWS
