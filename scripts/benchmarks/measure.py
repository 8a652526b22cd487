"""What the benchmarks share: options, rounds that take turns, medians, the machine's description, JSON files."""

from __future__ import annotations

import os
import platform
import secrets
import statistics
import subprocess
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from engine.config import usable_cores
from nexmark.errors import OptionError
from nexmark.progress import progress_line

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "docs" / "benchmarks"
_MEASURED = ("shm", "engine", "operators", "nexmark", "scripts")

Case = TypeVar("Case")
Outcome = TypeVar("Outcome")


LISTS = ("--workers", "--rates")


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """Arguments as click takes them: `--workers 1 2` becomes `--workers 1 --workers 2`."""
    said: list[str] = []
    option = ""
    for argument in arguments:
        if argument.startswith("-"):
            option = argument
        elif said and option in LISTS and said[-1] != option:
            said.append(option)
        said.append(argument)
    return said


input_option = click.option(
    "--input",
    "input_folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder staged by `tokenring stage`.",
)
rounds_option = click.option(
    "--rounds", type=click.IntRange(1), default=5, show_default=True, help="How often everything is measured."
)
workers_option = click.option(
    "--workers",
    multiple=True,
    type=click.IntRange(1, 512),
    default=(1, 2),
    show_default=True,
    metavar="N...",
    help="Worker processes.",
)
events_option = click.option(
    "--events", type=click.IntRange(1), metavar="N", help="Use only the first N staged events."
)
json_option = click.option(
    "--json",
    "json_file",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the figures go.",
)


def take_turns(
    what: str, cases: Sequence[Case], rounds: int, measure: Callable[[Case], Outcome], warm_up: bool = True
) -> list[list[Outcome]]:
    """Measure every case once a round, so that what the machine does meanwhile hits all alike; returns a list a case.

    Each round starts at another case. With `warm_up`, a round before the first is not counted: it reads pages and
    loads kernels.
    """
    outcomes: list[list[Outcome]] = [[] for _ in cases]
    total = len(cases) * (rounds + warm_up)
    with progress_line(what) as progress:
        done = 0
        for number in range(rounds + warm_up):
            for step in range(len(cases)):
                at = (step + number) % len(cases)
                outcome = measure(cases[at])
                if number >= warm_up:
                    outcomes[at].append(outcome)
                done += 1
                if progress is not None:
                    progress(done, total)
    return outcomes


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, least and greatest."""
    kept = sorted(values)
    return {"median": statistics.median(kept), "least": kept[0], "greatest": kept[-1]}


def median_of(values: Iterable[float | None]) -> float | None:
    """The median of those that are there."""
    kept = [value for value in values if value is not None]
    return statistics.median(kept) if kept else None


def machine() -> dict[str, Any]:
    """What was measured on: never the machine's name."""
    return {
        "processor": _processor(),
        "cores": len(usable_cores()),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("numpy", "numba", "duckdb")},
        "commit": _commit(),
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The checkout's commit, marked where the code that is measured is not what was committed."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return f"{commit} with changes" if _git("status", "--porcelain", "--", *_MEASURED) else commit
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()


def require_events(folder: Path, available: int, rate: float, seconds: float) -> None:
    """Refuse an open loop that the events would not last for."""
    if rate * seconds > available:
        raise OptionError(
            f"{rate:g} events/s for --duration {seconds:g} s takes {rate * seconds:,.0f} events, {folder} gives "
            f"{available:,}; offer less, for a shorter time, or stage more"
        )


def require_writable(path: Path) -> None:
    """Fail before hours of measuring, not after."""
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise OptionError(f"--json {path}: its folder does not exist or cannot be written to; make it first")


def write_json(path: Path, benchmark: str, parameters: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """Write one benchmark's figures, whole or not at all."""
    data = {"benchmark": benchmark, "machine": machine(), "parameters": parameters, **figures}
    replace(path, orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return data


def replace(path: Path, content: bytes) -> None:
    """Write a file under another name and move it into place."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)
