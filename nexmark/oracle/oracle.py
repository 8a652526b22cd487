"""The oracle: every query answered by Spark SQL in a process of its own; answers are kept beside the events.

It shares no code with the engine and reads the Parquet files, which the engine does not.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import xxhash

from tokenring.nexmark.errors import SparkError
from tokenring.nexmark.events import STREAMS
from tokenring.nexmark.manifest import read_manifest
from tokenring.nexmark.spark import plain_path, run_spark_job
from tokenring.nexmark.sql import QUERIES, sql
from tokenring.tools.errors import OptionError

CACHE: Final = ".oracle"
_VERSION: Final = 2


def answers(
    queries: Sequence[str], staged_dir: str | os.PathLike[str], events: int | None = None, *, master: str = "local[*]"
) -> dict[str, Path | SparkError]:
    """The right answers to `queries` over the events with `event < events` (default all).

    Each is a folder of Parquet files, columns named as in nexmark/sql/, rows in no order: to be read, not changed. A
    query that Spark cannot answer has its SparkError instead, and others go on. One Spark session answers all that are
    not kept from before; kept are answers to the same text over the same events. OptionError for a query that is not
    one, or a negative limit; StagedError for a folder without events; SparkError if Spark itself fails.
    """
    unknown = [query for query in queries if query not in QUERIES]
    if unknown:
        raise OptionError(f"query is {unknown[0]!r}; the oracle answers {', '.join(QUERIES)}")
    folder = Path(staged_dir)
    manifest = read_manifest(folder)
    limit = manifest["events"] if events is None else min(events, manifest["events"])
    if limit < 0:
        raise OptionError(f"events is {limit}; it must not be negative")
    cache = _cache(folder)
    kept = {query: cache / f"{query}-{limit}-{_key(query, manifest['digest'])}" for query in queries}
    asked = [query for query, answer in kept.items() if not answer.is_dir()]
    failures = _ask(asked, folder, manifest["streams"], limit, master, kept) if asked else {}
    return {query: failures.get(query, answer) for query, answer in kept.items()}


def _ask(
    queries: list[str], folder: Path, streams: dict[str, Any], limit: int, master: str, kept: dict[str, Path]
) -> dict[str, SparkError]:
    """Has Spark answer, and moves each whole answer to where it is kept; returns what went wrong."""
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="tokenring-oracle-"))
        # On the same file system as the answers' folders, to be moved there in one step.
        out = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=kept[queries[0]].parent)))
        plain = stack.enter_context(plain_path(folder.absolute()))
        arguments = {
            "app": "tokenring oracle",
            "master": master,
            "queries": queries,
            "events": limit,
            "parquet": {name: str(plain / streams[name]["parquet"]) for name in STREAMS},
            "out": str(stack.enter_context(plain_path(out.absolute()))),
            "rows": streams["bid"]["rows"],
        }
        told: dict[str, str | None] = run_spark_job("tokenring.nexmark.oracle.job", arguments, Path(scratch))
        for query, failure in told.items():
            if failure is None:
                with suppress(OSError):  # somebody else has just put the same answer there
                    os.replace(out / query, kept[query])
        return {query: SparkError(f"Spark cannot answer {query}: {text}") for query, text in told.items() if text}


def _key(query: str, digest: str) -> str:
    """Names an answer: equal for equal events and an equal text."""
    return xxhash.xxh3_64_hexdigest(f"{_VERSION} {digest} {sql(query)}".encode())


def _cache(folder: Path) -> Path:
    """Where answers are kept: beside the events, or in the user's cache if nothing can be written there."""
    beside = folder / CACHE
    with suppress(OSError):
        beside.mkdir(exist_ok=True)
    if beside.is_dir() and os.access(beside, os.W_OK):
        return beside
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tokenring" / "oracle"
    cache.mkdir(parents=True, exist_ok=True)
    return cache
