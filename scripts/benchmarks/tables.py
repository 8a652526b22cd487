"""`benchmark tables`: the tables and plots of the documents, made from docs/benchmarks/*.json."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import orjson

from scripts.benchmarks.measure import DOCUMENTS, RESULTS
from scripts.benchmarks.render import EXPERIMENTS, RENDERERS, render, render_goals
from tokenring.nexmark.bench.rendering import write_plots
from tokenring.tools.errors import OptionError
from tokenring.tools.system.files import replace

_MARKED = re.compile(r"(<!-- begin ([\w-]+): made by scripts/benchmark tables -->\n).*?(<!-- end \2 -->)", re.S)


@click.command()
@click.option(
    "--check", is_flag=True, help="Change nothing; exit status 1 if the document is not what the figures give."
)
@click.option(
    "--document",
    "documents",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    default=DOCUMENTS,
    help="[default: docs/performance.md, docs/experiments.md and docs/scale-out.md]",
)
@click.option(
    "--figures", type=click.Path(path_type=Path, file_okay=False), default=RESULTS, help="[default: docs/benchmarks]"
)
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
    for name in () if check else EXPERIMENTS:
        data = _figures_of(name, figures)
        if data is not None:
            write_plots(figures / f"{name}.json", data)


def fill(text: str, figures: Path) -> str:
    """The document with every marked part made anew."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{marked(found[2], figures)}\n\n{found[3]}", text)


def marked(name: str, figures: Path) -> str:
    """What stands between the markers of one benchmark."""
    if name == "goals":
        known = (*RENDERERS, *EXPERIMENTS)
        return render_goals({one: data for one in known if (data := _figures_of(one, figures)) is not None})
    known = (*RENDERERS, *EXPERIMENTS)
    if name not in known:
        raise OptionError(f"the document has a part {name!r}; the benchmarks are {', '.join(known)}")
    data = _figures_of(name, figures)
    if data is None:
        if name == "all":
            return "*Not measured yet: `./scripts/benchmark all`*"
        experiment = name.removeprefix("bench-")
        command = f"tokenring bench {experiment}" if name in EXPERIMENTS else f"./scripts/benchmark {name} …"
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
