"""Plots: panels in a grid, with one legend, as an SVG that is the same every time. Only here matplotlib is imported."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = Callable[[Any], None]
"""Draws a panel into matplotlib's `Axes`."""

_LEGEND_INCHES = 1.7  # of one entry
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "tokenring", "font.size": 8.5, "font.family": "sans-serif"}


@dataclass(frozen=True)
class Panels:
    """of: what draws each panel of some rows. inches: of a panel; columns: the first of these that leaves no hole, else
    the last at most. shares_y: all panels have one scale, with room above it if something did not finish; order: of a
    label in the legend."""

    of: Callable[[list[Any]], Iterator[Draw]]
    inches: tuple[float, float] = (4.0, 3.1)
    columns: tuple[int, ...] = (5, 4, 3, 4)
    shares_y: bool = True
    order: Callable[[str], int] = lambda label: 0


def drawn(panels: Panels | None, rows: list[dict[str, Any]]) -> bytes | None:
    """The SVG of an experiment's rows; None if there is nothing to draw."""
    measured = [row for row in rows if not row.get("error")]
    draws = [] if panels is None else list(panels.of(measured))
    if panels is None or not draws:
        return None
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        even = [count for count in panels.columns[:-1] if len(draws) % count == 0]
        columns = even[0] if even else min(len(draws), panels.columns[-1])
        lines = -(-len(draws) // columns)
        width, height = panels.inches
        figure = Figure(figsize=(width * columns, height * lines + 0.4), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False, sharey=panels.shares_y).flatten().tolist()
        for ax, draw in zip(axes, draws, strict=False):
            draw(ax)
        for ax in axes[len(draws) :]:
            ax.remove()
        if panels.shares_y and any(row.get("dnf") for row in measured):
            axes[0].set_ylim(top=3 * axes[0].get_ylim()[1])  # room for the crosses above the lines
        legends = [ax.get_legend_handles_labels() for ax in axes[: len(draws)]]
        found = {label: handle for handles, labels in legends for handle, label in zip(handles, labels, strict=True)}
        labels = sorted(found, key=panels.order)
        fitting = max(1, int(width * columns / _LEGEND_INCHES))
        figure.legend(
            [found[label] for label in labels], labels, loc="outside lower center", ncols=fitting, frameon=False
        )
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def ticks(ax: Axes, values: Sequence[float], text: Callable[[float], str]) -> None:
    """A tick on the x axis for each value that was measured."""
    from matplotlib.ticker import FuncFormatter

    ax.set_xticks(sorted(set(values)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    ax.xaxis.minorticks_off()
