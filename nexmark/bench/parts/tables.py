"""Figures as Markdown: tables, made of rows and of what each column shows; numbers with the digits that matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Cell = str | Callable[[Any], str]
Column = tuple[str, Cell] | tuple[str, Cell, float]
"""A heading, and what stands below it, of each row: a function of the row; a text with fields in braces; or the path of
a value ("latency_ms.p50"), which may be followed by the unit that it is shown in."""


def table(rows: Iterable[Any], *columns: Column, more: Iterable[list[str]] = ()) -> str:
    """A Markdown table, the first column to the left, the others to the right. more: lines below, as texts."""
    lines = [[cell_text(row, *column[1:]) for column in columns] for row in rows]
    lines = [[column[0] for column in columns], ["---", *["---:"] * (len(columns) - 1)], *lines, *more]
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in lines])


def cell_text(row: Any, cell: Cell, unit: float | None = None) -> str:
    """One cell. A value that is a number has the digits that matter, one that is a spread its bounds; texts, and whole
    numbers without a unit, are as they are."""
    if callable(cell):
        return cell(row)
    if "{" in cell:
        return cell.format_map(row)
    value = row
    for name in cell.split("."):
        value = value[name]
    if isinstance(value, str) or (unit is None and isinstance(value, int)):
        return str(value)
    return (ranged if isinstance(value, dict) else figure)(value, unit or 1.0)


def figure(value: float | None, unit: float = 1.0) -> str:
    """Three digits that matter; a dash for what was not measured."""
    if value is None:
        return "–"
    scaled = value / unit
    digits = 0 if abs(scaled) >= 100 else 1 if abs(scaled) >= 10 else 2
    return f"{scaled:,.{digits}f}"


def ranged(values: dict[str, float], unit: float = 1.0) -> str:
    """Median (least – greatest), from `spread`."""
    return f"{figure(values['median'], unit)} ({figure(values['least'], unit)} – {figure(values['greatest'], unit)})"


def rate_text(rate: float | None) -> str:
    """A rate as people say it."""
    if rate is None:
        return "closed loop"
    return f"{rate / 1e6:g} M/s" if rate >= 1e6 else f"{rate / 1e3:g} k/s"


def workers_text(workers: int) -> str:
    """So many workers, in words."""
    return f"{workers} worker{'s' if workers > 1 else ''}"


def machine_text(on: dict[str, Any]) -> str:
    """One sentence about what was measured on, from `machine()`."""
    versions = ", ".join(f"{name} {version}" for name, version in on["packages"].items() if version)
    return (
        f"Measured {on['measured']} at commit {on['commit']}: {on['processor']}, {on['cores']} cores, "
        f"{on['memory_gb']} GB, Linux {on['kernel']}, Python {on['python']}, {versions}."
    )
