"""Least and greatest of unsigned numbers: as numbers, not as their words' signs have them."""

from __future__ import annotations

import numpy as np
import pytest

import tokenring as tr

WAYS = {
    "running": {"by": "key"},
    "of all": {},
    "tumbling": {"window": tr.Tumbling("at", 4)},
    "sliding": {"window": tr.Sliding("at", 4, 2)},
    "session": {"window": tr.Session("at", 9), "by": "key"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("values", [[7, 2**63 + 1, 3], [2**63 + 1, 2**64 - 1], [5, 7], [0], [2**63, 2**63 - 1]])
def test_extremes_of_unsigned_numbers(values: list[int], way: str) -> None:
    """Within one worker's rows and over two."""
    schema = tr.Schema.of({"at": "int64", "key": "int64", "wide": "uint64"})

    def program(worker: tr.Worker) -> list[dict[str, np.ndarray]]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_input(schema)
            found = rows.aggregate(least=tr.Min("wide"), greatest=tr.Max("wide"), **WAYS[way]).collect()
        own = np.array(values[worker.index :: 2], np.uint64)
        handle.send({"at": np.zeros(len(own), np.int64), "key": np.zeros(len(own), np.int64), "wide": own})
        handle.close()
        worker.run()
        columns = found.columns()
        return [{name: column[-1:] for name, column in columns.items()}] if len(columns["least"]) else []

    told = [one for some in tr.execute(program, workers=2) for one in some]
    assert (int(told[0]["least"][0]), int(told[0]["greatest"][0])) == (min(values), max(values)), "all are in one"
