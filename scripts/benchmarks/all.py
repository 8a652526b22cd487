"""`benchmark all`: every figure of the documents from one commit, part by part, and the tables made from them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import TemporaryDirectory
from typing import Any, Final

import click
import orjson

from scripts.benchmarks.measure import RESULTS, ROOT, write_json
from scripts.benchmarks.parts import EVENTS, FEWER, LEFT_OUT, MEASURED, NAMES, QUICK, READ_NO_EVENTS
from tokenring.nexmark.bench.rendering import machine
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system.files import require_writable

_STAGED_RATE: Final = 1_000_000  # events a second of event time


@dataclass(frozen=True)
class Part:
    """One command, whose figures go to `name`.json."""

    name: str
    options: str

    def command(self, folder: Path, json_file: Path) -> list[str]:
        """The words to run; --input where the part reads events."""
        is_bench = self.name.startswith("bench-")
        bench = ["tokenring", "bench", self.name.removeprefix("bench-")]
        verb = bench if is_bench else ["scripts.benchmarks", self.name]
        read = [] if self.name in READ_NO_EVENTS else ["--input", str(folder)]
        return [sys.executable, "-m", *verb, *read, *self.options.split(), "--json", str(json_file)]


@click.command(cls=ListCommand, epilog=f"Parts: {', '.join(MEASURED)}; when named: {', '.join(LEFT_OUT)}.")
@click.option(
    "--out", "results", default=RESULTS, metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Where the figures go.  [default: docs/benchmarks]",
)  # fmt: skip
@click.option("--part", "names", multiple=True, type=click.Choice(NAMES), metavar="PART...", help="Only these.")
@click.option("--again", is_flag=True, help="Measure what was measured at this commit already, too.")
@click.option("--earlier", metavar="REV", help="Measure against this earlier commit, too.")
@click.option("--quick", is_flag=True, help="Tiny: to see that all works. Its figures are worth nothing.")
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
    wanted = names or MEASURED
    parts = [Part(name, (QUICK if quick else MEASURED | LEFT_OUT)[name]) for name in wanted]
    if earlier is not None:
        parts.append(Part("earlier", f"--commit {earlier} --rounds {1 if quick else 5}"))
    for part in parts:
        if part.name in seconds:
            click.echo(f"{part.name}: measured at this commit already, in {seconds[part.name]:.0f} s")
            continue
        folder = _staged(min(EVENTS[quick], FEWER.get(part.name, EVENTS[quick])))
        seconds[part.name] = _measure(part, folder, results)
        click.echo(f"{part.name}: {seconds[part.name]:.0f} s")
        shown = {name: seconds[name] for name in (*NAMES, "earlier") if name in seconds}
        write_json(results / "all.json", "all", {"events": EVENTS[quick], "quick": quick}, {"seconds": shown})
    click.echo(f"in all: {sum(seconds.values()) / 60:.1f} minutes")
    if results.resolve() == RESULTS.resolve():
        _run([sys.executable, "-m", "scripts.benchmarks", "tables"])


def _measured(results: Path, commit: str | None) -> Iterator[tuple[str, float]]:
    """(part, seconds) of those whose figures are of this commit."""
    with suppress(OSError, orjson.JSONDecodeError, KeyError):
        for name, seconds in orjson.loads((results / "all.json").read_bytes())["seconds"].items():
            with suppress(OSError, orjson.JSONDecodeError, KeyError):
                data: dict[str, Any] = orjson.loads((results / f"{name}.json").read_bytes())
                if data["machine"]["commit"] == commit and data.get("complete", True):
                    yield name, seconds


def _measure(part: Part, folder: Path, results: Path) -> float:
    """Run a part; its figures appear when it is done. Returns its seconds."""
    click.echo(f"{part.name} {part.options}")
    start_s = time.monotonic()
    with TemporaryDirectory(prefix="tokenring-benchmark-") as scratch:
        file = Path(scratch) / f"{part.name}.json"
        _run(part.command(folder, file))
        copyfile(file, results / file.name)
    return time.monotonic() - start_s


def _staged(events: int) -> Path:
    """The events, staged now unless they are there."""
    folder = ROOT / ".data" / f"benchmark-{events}"
    with suppress(CommandError):
        if StagedEvents.open(folder, check=None).events == events:
            return folder
    rmtree(folder, ignore_errors=True)
    stage = ["tokenring", "stage", "--out", str(folder), "--events", str(events), "--rate", str(_STAGED_RATE)]
    _run([sys.executable, "-m", *stage])
    return folder


def _run(arguments: list[str]) -> None:
    status = subprocess.run(arguments, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode
    if status:
        raise CommandError(f"{' '.join(arguments[2:])}: exit status {status}; call `benchmark all` again to go on")
