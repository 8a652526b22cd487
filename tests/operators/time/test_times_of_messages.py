"""Who goes by messages' times has each row at its own, however far a frontier goes at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokenring as tr

ROW = tr.Schema("at k")
MADE: dict[str, Callable[[Any, Any], Any]] = {
    "changes": lambda rows, _: tr.as_rows(rows.collection("at").changes().select("k", at=tr.col("time"))),
    "windows": lambda rows, _: rows.count("at k", window=tr.Tumbling("at", 1)).select("k", "at"),
    "sessions": lambda rows, _: rows.count("at k", window=tr.Session("at", 3)).select("k", "at"),
    "scan": lambda rows, _: rows.scan("k", lambda _, row: (None, {"at": row["at"]}), tr.Schema("at"), order="at"),
    "alone": lambda rows, none: rows.interval_join(
        none, on="k", how="anti", left_time="at", right_time="at", lower=0, upper=4
    ),
    "versions": lambda rows, none: rows.temporal_join(
        none, on="k", how="left", time="at", version_time="at", columns=["left.k", "left.at"]
    ),
}
GOES_BY: dict[str, Callable[[Any], Any]] = {
    "for_each": lambda rows: rows,
    "iterate": lambda rows: tr.iterate(rows, lambda each: tr.branch(each.distinct("k"), tr.col("k") < 0)),
    "look_up": lambda rows: tr.look_up(rows.select("k", "at"), "k", rows.select("k", v=tr.col("at")), "seen"),
    "collection": lambda rows: rows.collection().count("k").changes(),
    "enrich": lambda rows: rows.enrich(rows, on="k", columns={"k": "left.k", "at": "left.at", "seen": "right.at"}),
}


@pytest.mark.parametrize("name", GOES_BY)
@pytest.mark.parametrize("made", MADE)
def test_what_goes_by_messages_times_is_told_the_same_at_once(made: str, name: str) -> None:
    assert _sent(made, name, 2, at_once=True) == _sent(made, name, 1, at_once=False)


def _sent(made: str, name: str, workers: int, at_once: bool) -> list[tuple[int, ...]]:
    def program(worker: tr.Worker) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = []

        def note(time: int, batch: Any) -> None:
            found.extend((time, *row) for row in zip(*map(np.ndarray.tolist, batch.columns), strict=True))

        with worker.dataflow() as scope:
            handle, rows = scope.new_input(ROW)
            other, none = scope.new_input(ROW, "other")
            probe = GOES_BY[name](MADE[made](rows, none)).for_each(note, in_order=True)
        for at in (1, 2, 12, 13, 25):
            if worker.index == 0:
                handle.send({"at": [at], "k": [7]})
            for each in (handle, other):
                each.advance_to(at + 1)
            if not at_once:
                worker.step_while(lambda at=at: probe.less_than(at))
        handle.close()
        other.close()
        worker.run()
        return found

    return sorted(row for part in tr.execute(program, workers=workers) for row in part)


def test_what_is_captured_at_once_is_replayed_as_what_came_step_by_step(tmp_path: Path) -> None:
    def program(worker: tr.Worker, folder: Path) -> None:
        with worker.dataflow() as scope:
            handle, rows = scope.new_input(ROW)
            tr.capture(MADE["sessions"](rows, None), folder)
        handle.send({"at": [1, 12, 25], "k": [7] * 3})
        handle.close()

    def again(worker: tr.Worker) -> list[int]:
        times: list[int] = []
        with worker.dataflow() as scope:
            scope.replay(tmp_path / "new").for_each(lambda time, _: times.append(time))
        worker.run()
        return times

    tr.execute(lambda worker: program(worker, tmp_path / "new"), workers=1)
    assert tr.execute(again, workers=1) == [[4, 15, 28]]
