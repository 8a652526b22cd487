"""Rows of the experiments as plots after the paper's figures; logarithmic axes, DNF at the top edge."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from tokenring.nexmark.bench.rendering.markdown import rate_text
from tokenring.nexmark.bench.sweeps import Row, by_source

# Colour and mark by mechanism, the same in every plot; colours that the colour-blind can tell apart.
_STYLES = {
    "tokens": ("#0072b2", "o"),
    "notifications": ("#d55e00", "s"),
    "watermarks-X": ("#009e73", "^"),
    "watermarks-P": ("#56b4e9", "v"),
    "sequential": ("#cc79a7", "D"),
}
_TAIL = {"p50_ms": "-", "p999_ms": ":", "p99_ms": ":"}
_PANEL_INCHES = (4.0, 3.1)
_LEGEND_INCHES = 1.7  # of one entry
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "tokenring", "font.size": 8.5, "font.family": "sans-serif"}


def plot(name: str, rows: list[Row]) -> bytes | None:
    """The SVG of one experiment's rows; None if there is nothing to draw."""
    import matplotlib

    drawn = [row for row in rows if not row["error"]]
    panels = list(_PANELS[name](drawn))
    if not panels:
        return None
    with matplotlib.rc_context(_SETTINGS):
        even = [count for count in (5, 4, 3) if len(panels) % count == 0]  # so that a source's panels are a row
        columns = even[0] if even else min(len(panels), 4)
        rows_of_panels = -(-len(panels) // columns)
        width, height = _PANEL_INCHES
        figure = Figure(figsize=(width * columns, height * rows_of_panels + 0.4), layout="constrained")
        axes = figure.subplots(rows_of_panels, columns, squeeze=False, sharey=name != "idle").flatten().tolist()
        for ax, draw in zip(axes, panels, strict=False):
            draw(ax)
        for ax in axes[len(panels) :]:
            ax.remove()
        if any(row.get("dnf") for row in drawn):
            axes[0].set_ylim(top=3 * axes[0].get_ylim()[1])  # room for the crosses above the lines
        legends = [ax.get_legend_handles_labels() for ax in axes[: len(panels)]]
        found = {label: handle for handles, labels in legends for handle, label in zip(handles, labels, strict=True)}
        order = list(_STYLES)
        lines = dict(sorted(found.items(), key=lambda one: order.index(one[0].split()[0]) if name != "idle" else 0))
        fitting = max(1, int(width * columns / _LEGEND_INCHES))
        figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=fitting, frameon=False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


Draw = Callable[[Axes], None]


def _lines(
    ax: Axes, rows: list[Row], x: str, figures: Sequence[str], title: str, x_label: str, unit: float = 1e-3
) -> None:
    """A line for each mechanism and figure over `x`; a point that did not finish is a cross at the top edge."""
    ax.set(title=title, xlabel=x_label, yscale="log")
    place = ax.get_subplotspec()
    if place is not None and place.is_first_col():
        ax.set_ylabel("latency, ms" if unit == 1.0 else "latency, µs")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.margins(x=0.1)
    for name, (colour, mark) in _STYLES.items():
        own = sorted((row for row in rows if row["mechanism"] == name), key=lambda row: row[x])
        for figure in figures:
            known = [(row[x], row[figure] / unit) for row in own if row[figure] is not None]
            if known:
                label = f"{name} {figure.removesuffix('_ms').replace('p999', 'p99.9')}"
                hollow = "none" if _TAIL[figure] == ":" else colour
                style: dict[str, Any] = {"color": colour, "marker": mark, "mfc": hollow, "ms": 4, "label": label}
                ax.plot(*zip(*known, strict=True), _TAIL[figure], **style)
    unfinished = [(row[x], row["mechanism"]) for row in rows if row.get("dnf")]
    top = ax.get_xaxis_transform()
    for at, name in unfinished:
        others = [other for place, other in unfinished if place == at]
        height = 0.97 - 0.06 * others.index(name)  # one below the other, so that each can be seen
        ax.plot([at], [height], "x", color=_STYLES[name][0], transform=top, clip_on=False, label=f"{name} DNF")
        ax.annotate("DNF", (at, height), xycoords=top, textcoords="offset points", xytext=(5, -2.5), fontsize=6)
    ax.grid(True, which="major", alpha=0.25)


def _powers(ax: Axes, values: Sequence[float], text: Callable[[float], str]) -> None:
    """A tick for each value that was measured."""
    ax.set_xticks(sorted(set(values)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    ax.xaxis.minorticks_off()


def _wordcount(rows: list[Row]) -> Iterator[Draw]:
    """Figure 6, latency over the quantum for each load, then figure 7, over workers at the finest and coarsest."""
    for source, own in by_source(rows):
        yield from _of_words(own, f", {source}")


def _of_words(rows: list[Row], how: str) -> Iterator[Draw]:
    most = max((row["workers"] for row in rows), default=0)
    for rate in sorted({row["rate"] for row in rows}):
        chosen = [row for row in rows if row["rate"] == rate and row["workers"] == most]

        def over_quanta(ax: Axes, chosen: list[Row] = chosen, rate: float = rate) -> None:
            title = f"{rate_text(rate)}, {most} worker{'s' if most > 1 else ''}{how}"
            _lines(ax, chosen, "quantum_log2", ("p50_ms", "p999_ms"), title, "timestamp quantum, ns")
            _powers(ax, [row["quantum_log2"] for row in chosen], lambda value: f"$2^{{{value:g}}}$")

        yield over_quanta
    if len({row["workers"] for row in rows}) > 1:
        for quantum in sorted({min(row["quantum_log2"] for row in rows), max(row["quantum_log2"] for row in rows)}):
            yield from _strong([row for row in rows if row["quantum_log2"] == quantum], quantum, how)


def _strong(rows: list[Row], quantum: int, how: str) -> Iterator[Draw]:
    """Strong scaling, at the greatest load that somebody holds."""
    greatest = max((row["rate"] for row in rows if not row.get("dnf")), default=0.0)
    chosen = [row for row in rows if row["rate"] == greatest]
    if chosen:
        yield _over_workers(chosen, f"{rate_text(greatest)}, quantum $2^{{{quantum}}}$ ns{how}")


def _over_workers(rows: list[Row], title: str) -> Draw:
    def draw(ax: Axes) -> None:
        _lines(ax, rows, "workers", ("p50_ms", "p999_ms"), title, "workers")
        _powers(ax, [row["workers"] for row in rows], lambda value: f"{value:g}")

    return draw


def _scaling(rows: list[Row]) -> Iterator[Draw]:
    """Figure 7, weak scaling: latency over workers, for each quantum and load a worker."""
    for source, own in by_source(rows):
        for quantum in sorted({row["quantum_log2"] for row in own}):
            for rate in sorted({row["rate_per_worker"] for row in own}):
                chosen = [row for row in own if (row["quantum_log2"], row["rate_per_worker"]) == (quantum, rate)]
                yield _over_workers(chosen, f"{rate_text(rate)} a worker, quantum $2^{{{quantum}}}$ ns, {source}")


def _chain(rows: list[Row]) -> Iterator[Draw]:
    """Figure 8: latency of a tick over the chain's length, for each number of workers."""
    for workers in sorted({row["workers"] for row in rows}):
        chosen = [row for row in rows if row["workers"] == workers]

        def over_length(ax: Axes, chosen: list[Row] = chosen, workers: int = workers) -> None:
            title = f"a tick, {workers} worker{'s' if workers > 1 else ''}"
            _lines(ax, chosen, "operators", ("p50_ms", "p99_ms"), title, "idle operators")
            ax.set_xscale("log")
            _powers(ax, [row["operators"] for row in chosen], lambda value: f"{value:g}")

        yield over_length


def _idle_line(row: Row) -> tuple[int, int, str]:
    """What the points of a line have in common."""
    return row["dataflows"], row["workers"], row["operator_kind"]


def _idle(rows: list[Row]) -> Iterator[Draw]:
    """Cost of a step and of building over the operators of a dataflow."""
    for name, label in (("step_ms", "ms a step"), ("build_s", "s to build"), ("group_mb", "MB, all processes")):
        if not rows:
            return

        def over_operators(ax: Axes, name: str = name, label: str = label) -> None:
            ax.set(title=label, xlabel="operators a dataflow", xscale="log")
            ax.set_yscale("log")
            for at, (dataflows, workers, kind) in enumerate(sorted({_idle_line(row) for row in rows})):
                own = [row for row in rows if _idle_line(row) == (dataflows, workers, kind)]
                known = sorted((row["operators"], row[name]) for row in own)
                text = f"{dataflows:,} dataflows, {kind}, {workers} worker{'s' if workers > 1 else ''}"
                ax.plot(*zip(*known, strict=True), "o-", color=f"C{at}", ms=4, label=text)
            _powers(ax, [row["operators"] for row in rows], lambda value: f"{value:,.0f}")
            ax.grid(True, alpha=0.25)

        yield over_operators


def _nexmark(rows: list[Row]) -> Iterator[Draw]:
    """Latency over the rate, for each source, query and number of workers."""
    for source, of_source in by_source(rows):
        for query in dict.fromkeys(row["query"] for row in of_source):
            for workers in sorted({row["workers"] for row in of_source}):
                chosen = [row for row in of_source if (row["query"], row["workers"]) == (query, workers)]
                yield _over_rates(chosen, f"{query.upper()}, {workers} worker{'s' if workers > 1 else ''}, {source}")


def _over_rates(rows: list[Row], title: str) -> Draw:
    def draw(ax: Axes) -> None:
        _lines(ax, rows, "rate", ("p50_ms", "p999_ms"), title, "events a second offered", unit=1.0)
        ax.set_xscale("log")
        _powers(ax, [row["rate"] for row in rows], rate_text)

    return draw


_PANELS: dict[str, Callable[[list[Any]], Iterator[Draw]]] = {
    "wordcount": _wordcount,
    "scaling": _scaling,
    "chain": _chain,
    "idle": _idle,
    "nexmark": _nexmark,
}
