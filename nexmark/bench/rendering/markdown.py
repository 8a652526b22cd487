"""Figures as Markdown: tables, and numbers with the digits that matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, the first column to the left, the others to the right."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    lines.insert(1, "| --- |" + " ---: |" * (len(header) - 1))
    return "\n".join(lines)


def figure(value: float | None, unit: float = 1.0) -> str:
    """Three digits that matter; a dash for what was not measured."""
    if value is None:
        return "–"
    scaled = value / unit
    digits = 0 if abs(scaled) >= 100 else 1 if abs(scaled) >= 10 else 2
    return f"{scaled:,.{digits}f}"


def rate_text(rate: float | None) -> str:
    """A rate as people say it."""
    if rate is None:
        return "closed loop"
    return f"{rate / 1e6:g} M/s" if rate >= 1e6 else f"{rate / 1e3:g} k/s"


def machine_text(on: dict[str, object]) -> str:
    """One sentence about what was measured on, from `machine()`."""
    packages = on["packages"]
    assert isinstance(packages, dict)
    versions = ", ".join(f"{name} {version}" for name, version in packages.items() if version)
    return (
        f"Measured {on['measured']} at commit {on['commit']}: {on['processor']}, {on['cores']} cores, "
        f"{on['memory_gb']} GB, Linux {on['kernel']}, Python {on['python']}, {versions}."
    )
