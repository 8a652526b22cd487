"""The same moves in every run: half of the bins go to the next worker, and after a while back, by one plan."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine import Config, Worker, execute
from tokenring.nexmark.bench.migration.timeline import Timeline, coarser, duration_above_s, greatest_ms, quantiles_ms
from tokenring.nexmark.bench.parts import Row, hiccup_row
from tokenring.nexmark.measure import hiccups_ms
from tokenring.nexmark.run import Measurements
from tokenring.operators.migrate import Placement

NO_MOVE = "none"
"""The plan of a run in which nothing moves."""
_SECOND_NS = 1_000_000_000
_HEAD_START_NS = 5_000_000
_HICCUP_S = 0.5


def half_away(workers: np.ndarray, peers: int) -> dict[int, int]:
    """Every second bin of each worker, and the next worker: bin -> worker."""
    away: dict[int, int] = {}
    for worker in range(peers):
        for number in np.flatnonzero(workers == worker)[::2].tolist():
            away[number] = (worker + 1) % peers
    return away


class Moves:
    """Moves half of the bins away and back, on worker 0, and notes when."""

    def __init__(self, placement: Placement | None, plan: str, start_ns: int, peers: int, quiet_s: float) -> None:
        """placement: None where nothing is to move, which is what a run is compared with. quiet_s: before each move,
        and half of it after the last."""
        self._placement, self._plan, self._peers = placement, plan, peers
        self._quiet_ns = int(quiet_s * 1e9)
        self._next_ns = start_ns + self._quiet_ns
        self._left: dict[int, int] = {}
        self.noted: list[list[int]] = []  # began, ended (monotonic ns)

    def look(self, now_ns: int) -> bool:
        """Begin what is to begin, note what has ended; whether the run may end. To be called once a step."""
        placement = self._placement
        if self.noted and not self.noted[-1][1]:
            if placement is not None and placement.is_moving:
                return False
            self.noted[-1][1] = now_ns
            self._next_ns = now_ns + self._quiet_ns // len(self.noted)
            return False
        if now_ns < self._next_ns:
            return False
        if len(self.noted) == 2:
            return True
        self.noted.append([now_ns, 0])
        if placement is not None:
            before = placement.workers
            away = self._left or half_away(before, self._peers)
            self._left = {number: int(before[number]) for number in away}
            placement.move(away, plan=self._plan)
        return False


def run_moving(
    worker: Worker, measurements: Measurements, placement: Placement, plan: str, quiet_s: float
) -> dict[str, Any]:
    """Run what a worker has declared to its end, while worker 0 moves bins by a plan and then asks for the end; this
    worker's part of the row."""
    start_ns = measurements.start_ns = worker.barrier() + _HEAD_START_NS
    timeline = Timeline(measurements.histogram)
    moves = None
    if worker.index == 0:
        moves = Moves(None if plan == NO_MOVE else placement, plan, start_ns, worker.peers, quiet_s)

    def goes_on() -> bool:
        timeline.look()
        if moves is not None and moves.look(time.monotonic_ns()):
            worker.ending.ask()
        return not worker.complete

    worker.step_while(goes_on)
    worker.run()
    if moves is not None and (len(moves.noted) < 2 or not moves.noted[1][1]):
        raise RuntimeError("the events ended before state had moved away and back; offer more")
    return {
        "start_ns": start_ns,
        "timeline": timeline.part(),
        "moves": moves.noted if moves is not None else None,
        "rows": placement.rows_moved,
        "bytes": placement.bytes_moved,
        "dnf": measurements.dnf,
    }


def measured_moves(point: Row, workers: int, program: Callable[[Worker], dict[str, Any]], config: Config) -> Row:
    """The row of a run whose workers return what `run_moving` gives. point: what it was to be."""
    hiccups = hiccups_ms(workers, _HICCUP_S)
    parts = execute(program, config=config)
    return {
        **point,
        "workers": workers,
        **hiccup_row(hiccups),
        "dnf": any(part["dnf"] for part in parts),
        **_moving_row(parts),
    }


def _moving_row(parts: list[dict[str, Any]]) -> Row:
    """What a run's moves made of its latency."""
    timelines = [part["timeline"] for part in parts]
    start_ns, moves = parts[0]["start_ns"], parts[0]["moves"]
    end_ns = max(int(part["at_ns"][-1]) for part in timelines)
    points = greatest_ms(timelines, start_ns, end_ns)
    row: Row = {
        "rows_moved": sum(part["rows"] for part in parts),
        "bytes_moved": sum(part["bytes"] for part in parts),
        "memory_before_mb": sum(float(part["memory_mb"][: _at(part, moves[0][0])].max()) for part in timelines),
        "memory_moving_mb": sum(float(part["memory_mb"][_at(part, moves[0][0]) :].max()) for part in timelines),
        "timeline": coarser(points),
        "moves_s": [[(began - start_ns) / 1e9, (ended - start_ns) / 1e9] for began, ended in moves],
    }
    for name, (began, ended) in zip(("away", "back"), moves, strict=True):
        before = quantiles_ms(timelines, began - _SECOND_NS, began)
        during = quantiles_ms(timelines, began, max(began + _SECOND_NS, ended))
        limit_ms = None if before["p999_ms"] is None else 2 * before["p999_ms"]
        row[name] = {
            "seconds": (ended - began) / 1e9,
            **{f"before_{key}": value for key, value in before.items()},
            **{f"during_{key}": value for key, value in during.items()},
            "spike": (during["p999_ms"] or 0) / before["p999_ms"] if before["p999_ms"] else None,
            "above_s": None if limit_ms is None else duration_above_s(
                points, (began - start_ns) / 1e9, (max(began + _SECOND_NS, ended) - start_ns) / 1e9, limit_ms
            ),
        }
    return row


def _at(part: dict[str, Any], at_ns: int) -> int:
    """How many looks at memory were taken before an instant; at least one."""
    slots = int(np.searchsorted(part["at_ns"], at_ns))
    return max(1, min(slots * len(part["memory_mb"]) // max(1, len(part["at_ns"])), len(part["memory_mb"]) - 1))
