"""`benchmark tables`: the tables and plots of the documents, made from docs/benchmarks/*.json."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import orjson

from scripts.benchmarks.goals import render_goals
from scripts.benchmarks.measure import DOCUMENTS, RESULTS, render
from scripts.benchmarks.parts import FIGURES
from tokenring.nexmark.bench.figures import EXPERIMENTS
from tokenring.nexmark.bench.parts import ListCommand, option, write_plots
from tokenring.tools.errors import OptionError
from tokenring.tools.system import replace

_MARKED = re.compile(r"(<!-- begin ([\w-]+): made by scripts/benchmark tables -->\n).*?(<!-- end \2 -->)", re.S)


@click.command(cls=ListCommand)
@option("--check", None, "Change nothing; exit status 1 if the document is not what the figures give.", is_flag=True)
@option(
    "--document FILE...", click.Path(path_type=Path, dir_okay=False),
    "[default: docs/performance.md, docs/experiments.md and docs/scale-out.md]", DOCUMENTS, "documents",
)  # fmt: skip
@option(
    "--figures DIR", click.Path(path_type=Path, file_okay=False), "[default: docs/benchmarks]", RESULTS,
)  # fmt: skip
def command(check: bool, documents: tuple[Path, ...], figures: Path) -> None:
    """Put the tables of the JSON figures into the documents, and the experiments' plots beside the figures."""
    for document in documents:
        if not document.is_file():
            raise OptionError(f"--document {document}: no such file")
        before = document.read_text(encoding="utf-8")
        after = fill(before, figures)
        if check and after != before:
            raise click.ClickException(f"{document} is not what {figures} gives; run ./scripts/benchmark tables")
        if after != before:
            replace(document, after.encode())
    for name in () if check else FIGURES:
        data = _figures_of(name, figures) if name.startswith("bench-") else None
        if data is not None:
            write_plots(figures / f"{name}.json", data, EXPERIMENTS)


def fill(text: str, figures: Path) -> str:
    """The document with every marked part made anew."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{marked(found[2], figures)}\n\n{found[3]}", text)


def marked(name: str, figures: Path) -> str:
    """What stands between the markers of one benchmark."""
    if name == "goals":
        return render_goals({one: data for one in FIGURES if (data := _figures_of(one, figures)) is not None})
    if name not in FIGURES:
        raise OptionError(f"the document has a part {name!r}; the benchmarks are {', '.join(FIGURES)}")
    data = _figures_of(name, figures)
    if data is None:
        if name == "all":
            return "*Not measured yet: `./scripts/benchmark all`*"
        is_bench = name.startswith("bench-")
        command = f"tokenring {name.replace('-', ' ')}" if is_bench else f"./scripts/benchmark {name} …"
        return f"*Not measured yet: `{command} --json docs/benchmarks/{name}.json`*"
    try:
        return render(data)
    except (KeyError, TypeError) as error:
        raise OptionError(f"{name}.json: not what is written now: {error!r}; measure again") from error


def _figures_of(name: str, figures: Path) -> dict[str, Any] | None:
    """What a benchmark wrote; None if there is nothing."""
    path = figures / f"{name}.json"
    if not path.is_file():
        return None
    try:
        data: dict[str, Any] = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise OptionError(f"{path}: not JSON ({error}); measure again") from error
    if not isinstance(data, dict) or data.get("benchmark") != name:
        raise OptionError(f"{path}: not figures of {name}; measure again")
    return data
