"""Sweeps: every combination once, and a row of each point, whatever it ends by."""

from __future__ import annotations

from tokenring.nexmark.bench.parts import Experiment, Row, Sweep, measure_all, points


def test_points_are_every_combination_once() -> None:
    assert points(a=(1, 2, 1), b="xy") == [{"a": a, "b": b} for a in (1, 2) for b in "xy"]


def test_a_point_may_have_several_rows_and_one_that_fails_keeps_its_own() -> None:
    def measure(point: Row, sweep: Sweep) -> list[Row]:
        if point["at"] == 1:
            raise ZeroDivisionError("no")
        return [{"p50": point["at"] * sweep["by"] + each} for each in (0, 1)]

    experiment = Experiment("some", lambda sweep: [], measure, lambda rows, sweep: [], figures=("p50", "p99"))
    seen: list[tuple[int, int]] = []
    jobs = [(experiment, point, {"by": 10}) for point in points(at=(0, 1, 2), workers=(1,))]
    found = list(measure_all(jobs, lambda *done: seen.append(done)))
    assert [[row["p50"] for row in of_point] for of_point in found] == [[0, 1], [None], [20, 21]]
    assert [of_point[0]["error"] for of_point in found] == [None, "ZeroDivisionError: no", None]
    assert all(row["experiment"] == "some" and row["p99"] is None for of_point in found for row in of_point)
    assert seen == [(0, 3), (1, 3), (2, 3)]
