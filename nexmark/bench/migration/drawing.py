"""Timelines of latency while state moves, as a plot after Megaphone's figures: a panel a workload, a line a plan."""

from __future__ import annotations

import io
from typing import Any

from tokenring.nexmark.bench.sweeps import Row

_COLOURS = {
    "none": "#999999",
    "all_at_once": "#d55e00",
    "fluid": "#0072b2",
    "batched": "#009e73",
    "optimized": "#cc79a7",
}
_PANEL_INCHES = (5.2, 2.9)
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "tokenring", "font.size": 8.5, "font.family": "sans-serif"}


def draw_timelines(rows: list[Row]) -> bytes | None:
    """The SVG: the greatest latency of each twentieth of a second; None without rows."""
    import matplotlib
    from matplotlib.figure import Figure

    drawn = [row for row in rows if not row["error"]]
    workloads = list(dict.fromkeys([_panel_of(row) for row in drawn]))
    if not workloads:
        return None
    with matplotlib.rc_context(_SETTINGS):
        columns = min(2, len(workloads))
        lines = -(-len(workloads) // columns)
        width, height = _PANEL_INCHES
        figure = Figure(figsize=(width * columns, height * lines + 0.4), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False).flatten().tolist()
        for ax, workload in zip(axes, workloads, strict=False):
            _draw(ax, workload, [row for row in drawn if _panel_of(row) == workload])
        for ax in axes[len(workloads) :]:
            ax.remove()
        legends = [ax.get_legend_handles_labels() for ax in axes[: len(workloads)]]
        found = {label: handle for handles, labels in legends for handle, label in zip(handles, labels, strict=True)}
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=len(found), frameon=False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _panel_of(row: Row) -> str:
    keys = "" if row["keys_log2"] is None else f", 2^{row['keys_log2']} keys"
    return f"{row['workload']}{keys}, 2^{row['bins_log2']} bins, {row['workers']} workers"


def _draw(ax: Any, title: str, rows: list[Row]) -> None:
    ax.set(title=title, xlabel="seconds", ylabel="greatest latency, ms", yscale="log")
    for row in rows:
        name = row["plan"].split(":")[0]
        xs, ys = zip(*row["timeline"], strict=True)
        ax.plot(xs, ys, color=_COLOURS.get(name, "black"), linewidth=0.8, label=row["plan"])
