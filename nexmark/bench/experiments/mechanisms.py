"""How mechanisms stand beside each other: the sources they are measured with, and for each its columns and its line."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tokenring.nexmark import measure
from tokenring.nexmark.bench.parts import Column, Row, cell_text, figure, points, table, ticks
from tokenring.nexmark.commands import MECHANISMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
DNF_SAID: Final = "DNF: falls behind, and further with each second."

# Colour and mark by mechanism, the same in every plot; colours that the colour-blind can tell apart.
_STYLES = {
    "tokens": ("#0072b2", "o"),
    "notifications": ("#d55e00", "s"),
    "watermarks-X": ("#009e73", "^"),
    "watermarks-P": ("#56b4e9", "v"),
    "sequential": ("#cc79a7", "D"),
}
_TAIL = {"p50_ms": "-", "p999_ms": ":", "p99_ms": ":"}


def sourced_points(sources: Iterable[str], mechanisms: Iterable[str], **sweep: Iterable[Any]) -> list[Row]:
    """Every combination; what can send in one way only is measured for the first of the sources alone."""
    first, *_ = sources = tuple(sources)
    found = points(source=sources, **sweep, mechanism=mechanisms)
    return [point for point in found if point["source"] == first or point["mechanism"] not in ONE_SOURCE]


def by_source(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """(source, its rows) for each source there is, the mechanisms in one order; what can send in one way only is among
    the rows of either."""
    for source in SOURCES:
        own = [row for row in rows if row.get("source", BATCHED) == source]
        if own:
            there = {row["mechanism"] for row in own}
            own += [row for row in rows if row["mechanism"] in ONE_SOURCE and row["mechanism"] not in there]
            yield source, sorted(own, key=lambda row: MECHANISMS.index(row["mechanism"]))


def by_mechanism(rows: list[Row], named: Sequence[Column], shown: Sequence[str], unit: float) -> str:
    """A table with a line for each combination of what is `named`, each column by its name in the rows: for each
    mechanism, `shown`; then the median of the hiccup meters before these points."""
    lines: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(tuple([row[column[0]] for column in named]), {})[row["mechanism"]] = row
    columns: list[Column] = [
        (name, lambda of_line, cell=cell: cell_text(next(iter(of_line.values())), *cell)) for name, *cell in named
    ]
    for name in dict.fromkeys(row["mechanism"] for row in rows):
        for at, column in enumerate(shown):
            said = column.removesuffix("_ms").replace("p999", "p99.9").replace("_", " ")
            columns.append((said if at else f"{name} {said}", partial(_cell, name, column, unit, at == 0)))
    return table(lines.values(), *columns, ("hiccup p99.9", lambda of_line: _hiccup(of_line.values(), unit)))


def _cell(name: str, column: str, unit: float, is_first: bool, of_line: dict[str, Row]) -> str:
    """A figure of one point; of a point without figures, one word says why, in the first of its cells."""
    row = of_line.get(name)
    word = "–" if row is None else "failed" if row["error"] else "DNF" if row.get("dnf") else ""
    if word or row is None:
        return word if is_first else ""
    return figure(row[column], unit) + ("?" if row.get("verdict") == measure.UNDECIDED else "")


def _hiccup(rows: Iterable[Row], unit: float) -> str:
    found = [row["hiccup_p999_ms"] for row in rows if "hiccup_p999_ms" in row]
    return figure(statistics.median(found) if found else None, unit)


def workers_cell(row: Row) -> str:
    """How many workers; marked where they are more than there were cores to run them."""
    return f"{row['workers']}*" if row.get("oversubscribed") else str(row["workers"])


def marks(rows: list[Row]) -> list[str]:
    """What the marks in a table mean, as far as there are any."""
    said = []
    if any(row.get("oversubscribed") for row in rows):
        said.append("\\*: more workers than cores, which take turns; read such a line beside its like only.")
    if any(row.get("verdict") == measure.UNDECIDED for row in rows):
        said.append("?: too short to tell whether the rate holds, even at four times the seconds.")
    return said


def lines(ax: Axes, rows: list[Row], x: str, figures: Sequence[str], title: str, x_label: str) -> None:
    """A line, in µs, for each mechanism and figure over `x`; a point that did not finish is a cross at the top edge."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.set(title=title, xlabel=x_label, yscale="log")
    place = ax.get_subplotspec()
    if place is not None and place.is_first_col():
        ax.set_ylabel("latency, µs")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.margins(x=0.1)
    for name, (colour, mark) in _STYLES.items():
        own = sorted((row for row in rows if row["mechanism"] == name), key=lambda row: row[x])
        for name_of in figures:
            known = [(row[x], 1e3 * row[name_of]) for row in own if row[name_of] is not None]
            if known:
                label = f"{name} {name_of.removesuffix('_ms').replace('p999', 'p99.9')}"
                hollow = "none" if _TAIL[name_of] == ":" else colour
                style: dict[str, Any] = {"color": colour, "marker": mark, "mfc": hollow, "ms": 4, "label": label}
                ax.plot(*zip(*known, strict=True), _TAIL[name_of], **style)
    unfinished = [(row[x], row["mechanism"]) for row in rows if row.get("dnf")]
    top = ax.get_xaxis_transform()
    for at, name in unfinished:
        others = [other for place, other in unfinished if place == at]
        height = 0.97 - 0.06 * others.index(name)  # one below the other, so that each can be seen
        ax.plot([at], [height], "x", color=_STYLES[name][0], transform=top, clip_on=False, label=f"{name} DNF")
        ax.annotate("DNF", (at, height), xycoords=top, textcoords="offset points", xytext=(5, -2.5), fontsize=6)
    ax.grid(True, which="major", alpha=0.25)


def over_workers(ax: Axes, rows: list[Row], title: str) -> None:
    """Latency by the number of workers."""
    lines(ax, rows, "workers", ("p50_ms", "p999_ms"), title, "workers")
    ticks(ax, [row["workers"] for row in rows], lambda value: f"{value:g}")


def style_order(label: str) -> int:
    """Where a mechanism's label stands in a legend."""
    return list(_STYLES).index(label.split()[0])
