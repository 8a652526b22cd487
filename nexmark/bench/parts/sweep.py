"""A sweep: points measured one after the other, each in a group of its own; one that fails does not end the rest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tokenring.nexmark.bench.parts.plots import Panels

Row = dict[str, Any]
"""What names a point and what was measured there, by name; `error` is None, or why the figures are."""

Sweep = dict[str, Any]
"""What is swept, by option; with `quick`, and `folder`, that of staged events."""


@dataclass(frozen=True)
class Experiment:
    """What `tokenring bench` measures under one name. points: of a sweep; measure: a point's row or rows; tables: rows,
    and what was asked for, as Markdown. figures: what a point is measured for; None in a row whose point failed.
    events: (rates, seconds) of the events to be staged where no folder is given."""

    name: str
    points: Callable[[Sweep], list[Row]]
    measure: Callable[[Row, Sweep], Row | list[Row]]
    tables: Callable[[list[Row], Sweep], list[str]]
    panels: Panels | None = None
    figures: tuple[str, ...] = ()
    events: Callable[[Sweep], tuple[tuple[float, ...], float] | None] = lambda sweep: None


def points(**sweep: Iterable[Any]) -> list[Row]:
    """Every combination of the values, the last name's changing fastest; a value given twice counts once."""
    values = [list(dict.fromkeys(of)) for of in sweep.values()]
    return [dict(zip(sweep, chosen, strict=True)) for chosen in itertools.product(*values)]


def measure_all(
    jobs: Sequence[tuple[Experiment, Row, Sweep]], on_point: Callable[[int, int], None] | None = None
) -> Iterator[list[Row]]:
    """The rows of each point, as they are measured; on_point(done, of) before each."""
    from tokenring.engine.worker import usable_cores

    for done, (experiment, point, sweep) in enumerate(jobs):
        if on_point is not None:
            on_point(done, len(jobs))
        named: Row = {"experiment": experiment.name, **point, **dict.fromkeys(experiment.figures)}
        named["oversubscribed"] = point["workers"] > len(usable_cores())
        try:
            measured = experiment.measure(point, sweep)
            rows = [named | row | {"error": None} for row in (measured if isinstance(measured, list) else [measured])]
        except Exception as error:  # whatever it is: the points before it, and those to come, are worth keeping
            rows = [named | {"error": f"{type(error).__name__}: {error}"}]
        yield rows
