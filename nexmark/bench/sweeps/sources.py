"""How a point's source cuts what is due into messages, and which rows of a sweep stand beside each other for that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tokenring.nexmark.bench.sweeps.sweep import Row, points
from tokenring.nexmark.commands import MECHANISMS

EACH_TIME: Final = "each-time"
BATCHED: Final = "batched"
SOURCES: Final = (EACH_TIME, BATCHED)

ONE_SOURCE: Final = ("notifications", "sequential")
"""What can send in one way only: a message for each time under notifications, since a message's time is all that they
know of its rows; a micro-batch, which has one time, under sequential."""

SAID: Final = {
    EACH_TIME: "**The same source for all: a message for each distinct time**, as in the paper. Every message has its "
    "own time and is counted by itself, whatever the mechanism. What it supports: how the mechanisms compare where "
    "what sends knows nothing of them.",
    BATCHED: "**Each mechanism's best source**: under tokens and watermarks a message for all that is due (an interval "
    "batch), under notifications one for each time, under sequential a micro-batch. What it supports: what the "
    "mechanisms let an application have; not how they compare on equal messages.",
}


def sourced_points(sources: Iterable[str], mechanisms: Iterable[str], **sweep: Iterable[Any]) -> list[Row]:
    """Every combination; what can send in one way only is measured for the first of the sources alone."""
    first, *_ = sources = tuple(sources)
    found = points(source=sources, **sweep, mechanism=mechanisms)
    return [point for point in found if point["source"] == first or point["mechanism"] not in ONE_SOURCE]


def by_source(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """(source, its rows) for each source there is, the mechanisms in one order; what can send in one way only is among
    the rows of either."""
    parts = []
    for source in SOURCES:
        own = [row for row in rows if row.get("source", BATCHED) == source]
        if own:
            there = {row["mechanism"] for row in own}
            own += [row for row in rows if row["mechanism"] in ONE_SOURCE and row["mechanism"] not in there]
            parts.append((source, sorted(own, key=lambda row: MECHANISMS.index(row["mechanism"]))))
    return parts
