"""Batches that lie in files: the same answers, nothing left, and errors that name the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tokenring as tr
from tests.errors import raises

ROWS, KEYS = 400_000, 50_000


def test_large_batches_lie_in_files_and_answer_as_others_do(tmp_path: Path) -> None:
    random = np.random.default_rng(11)
    keys, values = random.integers(0, KEYS, ROWS), random.integers(0, 1000, ROWS)

    def program(worker: tr.Worker) -> tuple[list[dict[str, int]], list[int], bool]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v"), "rows")
            mapped = rows.arrange("k", "mapped", folder=tmp_path).export("mapped")
            kept = rows.arrange("k", "kept").export("kept")
        most = 0
        for time, some in enumerate(np.array_split(np.arange(ROWS), 8)):
            handle.insert({"k": keys[some], "v": values[some]})
            if time == 5:
                handle.remove({"k": keys[: ROWS // 80], "v": values[: ROWS // 80]})
            handle.advance_to(time + 1)
            worker.step_while(lambda time=time: mapped.upper <= time or kept.upper <= time)
            most = max(most, mapped.facts["mapped_bytes"])
        assert kept.facts["mapped_bytes"] == 0
        assert list(tmp_path.iterdir()) == []
        same = mapped.at().equals(kept.at())
        worker.run()
        return mapped.at(key=int(keys[-1])).to_pylist(), [most, mapped.facts["rows"]], same

    ((rows, (most, count), same),) = tr.execute(program, workers=1)
    assert same and count > 0 and most > 1 << 20
    assert sum(row["times"] for row in rows) > 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_none_is_told_of() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            _, rows = scope.new_collection(tr.Schema("k v"), "rows")
            rows.arrange("k", folder="/nowhere/at/all")

    with raises(tr.ConfigError, {"worker 0", "worker 1"}, "operator 'arrange'", "'/nowhere/at/all'", "No such file"):
        tr.execute(program, workers=1)
