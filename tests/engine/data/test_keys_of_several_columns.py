"""Rows find the owner of a key of several columns, whoever sends them: Python, or the inner loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tokenring as tr

FAR = 2**63 - 1
NUMBERS = [-FAR - 1, -1, 0, 1, 2, 7, 2**40, FAR]


@pytest.mark.parametrize("workers", [2, 3])
def test_compiled_operators_and_python_agree(workers: int) -> None:
    pairs = [(a, b) for a in NUMBERS for b in NUMBERS]

    def program(worker: tr.Worker) -> tuple[set[Any], set[Any]]:
        arrived: tuple[set[Any], set[Any]] = set(), set()
        with worker.dataflow() as scope:
            handle, rows = scope.new_input(tr.Schema("a b c"))
            counted = rows.aggregate("a b", n=tr.Count())  # compiled, as what sends its rows on is
            for number, stream in enumerate((rows, counted.select("b", "a", "n").filter(tr.col("n") > 0))):

                def note(time: int, batch: Any, number: int = number) -> None:
                    arrived[number].update(zip(batch["a"].tolist(), batch["b"].tolist(), strict=True))

                stream.exchange("a b").for_each(note)
        some = np.array(pairs[worker.index :: worker.peers], np.int64)
        handle.send({"a": some[:, 0], "b": some[:, 1], "c": some[:, 0]})
        handle.close()
        worker.run()
        return arrived

    found = tr.execute(program, workers=workers)
    for by_python, by_loop in found:
        assert by_python == by_loop
    assert sorted(pair for each, _ in found for pair in each) == sorted(pairs)
    assert sum(len(each) > 0 for each, _ in found) == workers
