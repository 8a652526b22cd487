"""A worker's side of `tokenring migrate`: it says where bins are; worker 0 lets them move, and says how far that is."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokenring.engine import UsageError, Worker, did_you_mean
from tokenring.engine.ask import tell_asker, write_whole
from tokenring.operators.migrate.placement import Placement, Placements
from tokenring.operators.migrate.plans import FLUID, Step, drained, evened

_LOOK_AGAIN_NS = 5_000_000
PROGRESS = "progress.json"
"""Where worker 0 says how far what was asked for is, while the asker waits for it."""


class Migrating:
    """What is asked of one worker."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        self._folder = folder
        self._placement = placement = _chosen(worker.kept(Placements).named(), question["dataflow"])
        self._steps: list[Step] = []
        self._is_watched = False
        if worker.index == 0:
            self._steps = _steps(placement, question)
            self._is_watched = bool(question["wait"] and self._steps)
            placement.move(self._steps)
        self._told: dict[str, Any] = {}
        with suppress(OSError):
            tell_asker(worker, folder, **facts_of(placement), steps=len(self._steps))

    def look(self) -> int:
        """Say how far it is, if that changed; the asker may be gone."""
        if not self._is_watched:
            return 0
        progress = _progress(self._placement, self._steps)
        if progress != self._told:
            self._told = progress
            with suppress(OSError):
                write_whole(self._folder / PROGRESS, progress)
        return _LOOK_AGAIN_NS

    def leave(self) -> None:
        """Who waited for it is gone: what has not begun stays where it is."""
        if self._is_watched:
            self._placement.forget(self._steps)


def _chosen(named: dict[str, Placement], dataflow: str | None) -> Placement:
    names = ", ".join(map(repr, named))
    if not named:
        raise UsageError("no dataflow that runs here has bins: declare it by worker.dataflow(name, bins=256), say")
    if dataflow is None and len(named) > 1:
        raise UsageError(f"several dataflows have bins; say which of {names}")
    if dataflow is not None and dataflow not in named:
        raise UsageError(f"no dataflow {dataflow!r} has bins; {names} do{did_you_mean(dataflow, list(named))}")
    return named[dataflow or next(iter(named))]


def _steps(placement: Placement, question: Mapping[str, Any]) -> list[Step]:
    """What is asked for, from where bins will be when all else is done that was asked for before."""
    asked, planned, plan = question["target"], placement.planned, question["plan"] or FLUID
    if asked is None:
        return []
    if placement.is_over:
        raise UsageError(
            f"dataflow {placement.scope.graph.name!r}: no state moves, since all its rows have come, or none of its "
            f"operators has a key"
        )
    if asked == "even":
        return placement.steps_to(evened(planned, placement.peers), plan)
    if isinstance(asked, int):
        placement.require_drainable(asked)
        return placement.steps_to(drained(planned, placement.peers, asked), plan)
    return placement.steps_to({number: worker for number, worker in asked}, plan)


def facts_of(placement: Placement) -> dict[str, Any]:
    """What a worker knows of a dataflow's bins, for JSON."""
    waiting, balance = placement.waiting, placement.balance
    return {
        "dataflow": placement.scope.graph.name,
        "bins": placement.workers.tolist(),
        "loads": placement.loads.tolist(),
        "rows": placement.rows_moved,
        "bytes": placement.bytes_moved,
        "staying": placement.staying,
        "steps_left": placement.steps_left,
        "waiting": None if waiting is None else waiting._asdict(),
        "balance": None if balance is None else balance._asdict(),
    }


def _progress(placement: Placement, steps: list[Step]) -> dict[str, Any]:
    waiting = placement.waiting
    return {
        "left": placement.left_of(steps),
        "is_over": placement.is_over,
        "waiting": None if waiting is None else waiting._asdict(),
    }
