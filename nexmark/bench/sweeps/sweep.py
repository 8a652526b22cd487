"""A sweep: points measured one after the other, each in a group of its own; one that fails does not end the rest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
"""What names a point and what was measured there, by name; `error` is None, or why the figures are."""


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments. figures: what a point is measured for; None in a row whose point failed."""

    name: str
    figures: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One point of an experiment, named by its values; `measure` may give more than the experiment's figures."""

    experiment: Experiment
    point: Row
    measure: Callable[[Row], Row]


def points(**sweep: Iterable[Any]) -> list[Row]:
    """Every combination of the values, the last name's changing fastest; a value given twice counts once."""
    values = [list(dict.fromkeys(of)) for of in sweep.values()]
    return [dict(zip(sweep, chosen, strict=True)) for chosen in itertools.product(*values)]


def measure_all(jobs: Sequence[Job], rows: list[Row], on_row: Callable[[int, int], None] | None = None) -> None:
    """Append a row for each job, so that whoever is interrupted keeps those measured; on_row(done, of) before each."""
    from tokenring.engine.worker import usable_cores

    for job in jobs:
        if on_row is not None:
            on_row(len(rows), len(jobs))
        row: Row = {"experiment": job.experiment.name, **job.point, **dict.fromkeys(job.experiment.figures)}
        row["oversubscribed"] = job.point["workers"] > len(usable_cores())
        try:
            row |= job.measure(job.point) | {"error": None}
        except Exception as error:  # whatever it is: the points before it, and those to come, are worth keeping
            row["error"] = f"{type(error).__name__}: {error}"
        rows.append(row)
