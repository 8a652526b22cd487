"""`benchmark tables`: the tables of docs/performance.md, made from docs/benchmarks/*.json."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import orjson

from nexmark.bench.files import replace
from nexmark.errors import OptionError
from scripts.benchmarks.measure import DOCUMENT, RESULTS
from scripts.benchmarks.render import RENDERERS, render, render_goals

_MARKED = re.compile(r"(<!-- begin (\w+): made by scripts/benchmark tables -->\n).*?(<!-- end \2 -->)", re.S)


@click.command()
@click.option(
    "--check", is_flag=True, help="Change nothing; exit status 1 if the document is not what the figures give."
)
@click.option(
    "--document",
    type=click.Path(path_type=Path, dir_okay=False),
    default=DOCUMENT,
    help="[default: docs/performance.md]",
)
@click.option(
    "--figures", type=click.Path(path_type=Path, file_okay=False), default=RESULTS, help="[default: docs/benchmarks]"
)
def command(check: bool, document: Path, figures: Path) -> None:
    """Put the tables of the JSON figures into the document."""
    if not document.is_file():
        raise OptionError(f"--document {document}: no such file")
    before = document.read_text(encoding="utf-8")
    after = fill(before, figures)
    if check and after != before:
        raise click.ClickException(f"{document} is not what {figures} gives; run ./scripts/benchmark tables")
    if after != before:
        replace(document, after.encode())


def fill(text: str, figures: Path) -> str:
    """The document with every marked part made anew."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{marked(found[2], figures)}\n\n{found[3]}", text)


def marked(name: str, figures: Path) -> str:
    """What stands between the markers of one benchmark."""
    if name == "goals":
        return render_goals({one: data for one in RENDERERS if (data := _figures_of(one, figures)) is not None})
    if name not in RENDERERS:
        raise OptionError(f"the document has a part {name!r}; the benchmarks are {', '.join(RENDERERS)}")
    data = _figures_of(name, figures)
    if data is None:
        return f"*Not measured yet: `./scripts/benchmark {name} … --json docs/benchmarks/{name}.json`*"
    try:
        return render(data)
    except (KeyError, TypeError) as error:
        raise OptionError(f"{name}.json: not what `benchmark {name}` writes now: {error!r}; measure again") from error


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
        raise OptionError(f"{path}: not figures of `benchmark {name}`; measure again")
    return data
