"""Stages events into a folder: Parquet by Spark or of foreign rows, raw columns made of it, a manifest as the seal."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenring.engine import UsageError
from tokenring.nexmark.errors import StagingError
from tokenring.nexmark.events import STREAMS, GeneratorConfig
from tokenring.nexmark.manifest import write_manifest
from tokenring.nexmark.spark import plain_path, run_spark_job
from tokenring.nexmark.staging.column_files import write_columns
from tokenring.nexmark.staging.foreign import find_source, normalise, write_in_order
from tokenring.operators.staging import staging_folder
from tokenring.tools.system import Advance, silent

BYTES_PER_EVENT = 140
"""Measured over 10 M events: 99 bytes each (70 raw, 29 Parquet); the rest is a margin for Spark's temporary files."""


@contextmanager
def spark_paths(building: Path) -> Iterator[tuple[Path, Path]]:
    """Where Spark writes, and where it keeps temporary files: within the folder under way, so that they end with it."""
    with plain_path(building) as out:
        scratch = out / ".scratch"
        scratch.mkdir()
        try:
            yield out, scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _drafting(out: Path, force: bool, needed_bytes: int) -> Iterator[Path]:
    """The folder under way; what is wrong with its place is told as commands tell it."""
    try:
        with staging_folder(out, force, needed_bytes) as building:
            yield building
    except UsageError as error:
        raise StagingError(str(error)) from None


def stage_generated(
    out: Path,
    config: GeneratorConfig,
    *,
    master: str = "local[*]",
    partitions: int | None = None,
    force: bool = False,
    progress: Advance = silent,
) -> dict[str, Any]:
    """Generates events with Spark into `out`; returns the manifest."""
    with _drafting(out, force, config.events * BYTES_PER_EVENT) as building:
        with spark_paths(building) as (spark_out, scratch):
            arguments = {
                "app": "tokenring stage",
                "master": master,
                "partitions": partitions,
                "config": config.as_dict(),
                "out": str(spark_out),
            }
            progress("generating", 0, config.events)
            rows = run_spark_job(
                "tokenring.nexmark.spark.jobs.generate",
                arguments,
                scratch,
                lambda done, of: progress("generating", done, of),
            )
        streams = seal_streams(building, rows, progress)
        origin = {"rate": config.rate, "seed": config.seed, "generator": config.as_dict(), "source": None}
        return write_manifest(building, config.events, streams, origin)


def stage_foreign(
    source_path: Path,
    out: Path,
    *,
    time_unit: str = "ns",
    force: bool = False,
    progress: Advance = silent,
    told: str | None = None,
) -> dict[str, Any]:
    """Checks somebody else's events, puts them in order, and stages them into `out`; returns the manifest.

    told: what the manifest says of where they came from, if that is not their path.
    """
    source = find_source(source_path, out)
    amount, needed_bytes = source.size()

    with _drafting(out, force, needed_bytes) as building:
        scratch = building / ".scratch"
        scratch.mkdir()
        streams = normalise(source, time_unit, scratch, _counting(progress, "checking", amount))
        rows = {raw.stream.name: raw.rows for raw in streams}
        write_in_order(streams, scratch, building, _counting(progress, "sorting", sum(rows.values())))
        shutil.rmtree(scratch)
        entries = seal_streams(building, rows, progress)
        origin = {"path": told or str(source_path.absolute()), "format": source.format, "time_unit": time_unit}
        return write_manifest(
            building, sum(rows.values()), entries, {"rate": None, "seed": None, "generator": None, "source": origin}
        )


def _counting(progress: Advance, what: str, amount: int) -> Callable[[int], None]:
    """Told of more and more, tells how much of all that is."""
    done = 0

    def advanced(count: int) -> None:
        nonlocal done
        done += count
        progress(what, done, amount)

    return advanced


def seal_streams(building: Path, rows: dict[str, int], progress: Advance) -> dict[str, Any]:
    """Writes the raw columns of every stream; returns their manifest entries."""
    advanced = _counting(progress, "writing columns", sum(rows.values()))
    return {name: write_columns(building, STREAMS[name], rows[name], advanced) for name in STREAMS}
