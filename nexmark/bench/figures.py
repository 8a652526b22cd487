"""The figures of `tokenring bench` as people see them: tables of all experiments that are in them, plots and files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tokenring.nexmark.bench.parts import Experiment, Row, by_experiment, write_beside
from tokenring.nexmark.bench.parts import record as recorded
from tokenring.nexmark.bench.parts import render as rendered
from tokenring.nexmark.bench.sizes import WHOLE
from tokenring.tools.system import STANDARD_OUTPUT, write_json


class _Experiments(Mapping[str, Experiment]):
    """By name; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> Experiment:
        from tokenring.nexmark.bench import collections, experiments, migration

        face = {"collections": collections, "migration": migration}.get(name, experiments)
        found: Experiment = getattr(face, name.upper())
        return found

    def __iter__(self) -> Any:
        return iter(WHOLE)

    def __len__(self) -> int:
        return len(WHOLE)


EXPERIMENTS = _Experiments()


def tables(data: dict[str, Any]) -> list[str]:
    """What follows the machine's line."""
    parts = []
    for name, rows in by_experiment(data).items():
        parts += [f"## {name}"] if data["benchmark"] == "bench-all" else []
        parts += [*EXPERIMENTS[name].tables(rows, data.get("parameters", {})), *_failures(rows)]
    return parts


def _failures(rows: list[Row]) -> list[str]:
    failed = [row for row in rows if row.get("error")]
    lines = [f"- {', '.join(_point(row))}: {' '.join(row['error'].split())}" for row in failed]
    return ["**Points that failed:**", "\n".join(lines)] if failed else []


def _point(row: Row) -> list[str]:
    names = ("workload", "plan", "case", "bound", "query", "quantum_log2", "rate", "dataflows", "operators", "workers")
    return [f"{name} {row[name]}" for name in (*names, "mechanism", "source") if row.get(name) is not None]


def render(data: dict[str, Any]) -> str:
    """The whole object as Markdown."""
    return rendered(data, tables(data))


def publish(name: str, rows: list[Row], complete: bool, parameters: dict[str, Any], json_file: Path | None) -> None:
    """Print the figures, and write them where somebody asked for that: to standard output, alone; or into a file,
    beside which stand, with the same stem, the table and the plots."""
    data = recorded(f"bench-{name}", parameters, complete=complete, rows=rows)
    if json_file is not None:
        write_json(json_file, data)
    if json_file == STANDARD_OUTPUT:
        return
    text = render(data)
    click.echo(text)
    if json_file is not None:
        write_beside(json_file, data, text, EXPERIMENTS)
