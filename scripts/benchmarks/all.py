"""`benchmark all`: every figure of the documents from one commit, part by part, and the tables made from them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import TemporaryDirectory
from typing import Any, Final

import click
import orjson

from scripts.benchmarks.measure import RESULTS, ROOT
from scripts.benchmarks.parts import EVENTS, FIGURES, LEFT_OUT, PARTS, Part
from tokenring.nexmark.bench.parts import ListCommand, machine, option, record, table
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system import require_writable, write_json

_STAGED_RATE: Final = 1_000_000  # events a second of event time
_MEASURED: Final = tuple([name for name in PARTS if name not in LEFT_OUT])


@click.command(cls=ListCommand, epilog=f"Parts: {', '.join(_MEASURED)}; when named: {', '.join(LEFT_OUT)}.")
@option(
    "--out DIR", click.Path(path_type=Path, file_okay=False), "Where the figures go.  [default: docs/benchmarks]",
    RESULTS, "results",
)  # fmt: skip
@option("--part PART...", click.Choice([*PARTS]), "Only these.", to="names")
@option("--again", None, "Measure what was measured at this commit already, too.", is_flag=True)
@option("--earlier REV", None, "Measure against this earlier commit, too.")
@option("--quick", None, "Tiny: to see that all works. Its figures are worth nothing.", is_flag=True)
def command(results: Path, names: tuple[str, ...], again: bool, earlier: str | None, quick: bool) -> None:
    """Stage what is needed, measure all, make the tables: some 35 minutes on two cores.

    Leave the machine alone meanwhile. Parts that were measured at this commit are kept, so whoever was interrupted
    calls it again. `all.json` says how long each took. The events stay in .data/ for the next time.
    """
    if quick and results.resolve() == RESULTS.resolve():
        raise OptionError("--quick gives figures that are worth nothing: name a folder for them with --out")
    results.mkdir(parents=True, exist_ok=True)
    require_writable(results / "all.json")
    commit = machine()["commit"]
    if commit is None or " " in commit:
        click.echo(f"benchmark: commit {commit}: commit first, or the figures belong to no commit", err=True)
    seconds = {} if again else dict(_measured(results, commit))
    parts = {name: PARTS[name] for name in names or _MEASURED}
    if earlier is not None:
        parts["earlier"] = Part("", f"--commit {earlier} --rounds 5", f"--commit {earlier} --rounds 1")
    for name, part in parts.items():
        if name in seconds:
            click.echo(f"{name}: measured at this commit already, in {seconds[name]:.0f} s")
            continue
        folder = _staged(min(EVENTS[quick], part.most_events))
        seconds[name] = _measure(name, part, quick, folder, results)
        click.echo(f"{name}: {seconds[name]:.0f} s")
        shown = {one: seconds[one] for one in FIGURES if one in seconds}
        write_json(results / "all.json", record("all", {"events": EVENTS[quick], "quick": quick}, seconds=shown))
    click.echo(f"in all: {sum(seconds.values()) / 60:.1f} minutes")
    if results.resolve() == RESULTS.resolve():
        _run(["scripts.benchmarks", "tables"])


def _measured(results: Path, commit: str | None) -> Iterator[tuple[str, float]]:
    """(part, seconds) of those whose figures are of this commit."""
    with suppress(OSError, orjson.JSONDecodeError, KeyError):
        for name, seconds in orjson.loads((results / "all.json").read_bytes())["seconds"].items():
            with suppress(OSError, orjson.JSONDecodeError, KeyError):
                data: dict[str, Any] = orjson.loads((results / f"{name}.json").read_bytes())
                if data["machine"]["commit"] == commit and data.get("complete", True):
                    yield name, seconds


def _measure(name: str, part: Part, quick: bool, folder: Path, results: Path) -> float:
    """Run a part; its figures appear when it is done. Returns its seconds."""
    options = part.quick if quick else part.measured
    click.echo(f"{name} {options}")
    start_s = time.monotonic()
    with TemporaryDirectory(prefix="tokenring-benchmark-") as scratch:
        file = Path(scratch) / f"{name}.json"
        read = ["--input", str(folder)] if part.reads_events else []
        verb = ["bench", name.removeprefix("bench-")] if name.startswith("bench-") else [name]
        _run(["scripts.benchmarks", *verb, *read, *options.split(), "--json", str(file)])
        copyfile(file, results / file.name)
    return time.monotonic() - start_s


def _staged(events: int) -> Path:
    """The events, staged now unless they are there."""
    folder = ROOT / ".data" / f"benchmark-{events}"
    with suppress(CommandError):
        if StagedEvents.open(folder, check=None).events == events:
            return folder
    rmtree(folder, ignore_errors=True)
    _run(["tokenring", "stage", "--out", str(folder), "--events", str(events), "--rate", str(_STAGED_RATE)])
    return folder


def _run(words: list[str]) -> None:
    """Run a module; what it says to stderr, progress too, is seen."""
    status = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode
    if status:
        raise CommandError(f"{' '.join(words)}: exit status {status}; call `benchmark all` again to go on")


def tables(data: dict[str, Any]) -> list[str]:
    """How long each part took."""
    minutes = sum(data["seconds"].values()) / 60
    parts = [{"part": f"`{name}.json`", "seconds": seconds} for name, seconds in data["seconds"].items()]
    said = f"`./scripts/benchmark all` took {minutes:.0f} minutes:"
    return [said, table(parts, ("part", "part"), ("seconds", "seconds"))]
