"""`tokenring run --engine spark`: the same queries over the same events on Spark, for what outgrows a machine."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tokenring.nexmark.errors import StagedError
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.scale_out.places import is_of_site, readable, scheme_of
from tokenring.nexmark.spark import run_spark_job
from tokenring.nexmark.sql import NOT_STREAMED
from tokenring.tools.errors import OptionError

if TYPE_CHECKING:
    import pyarrow as pa

LOCAL: Final = "local[*]"
# What a run on TokenRing tells, and one on Spark does not, or not always.
_NONE = (
    *("mechanism", "rate", "latency_ms", "verdict", "slope", "discarded_seconds", "anonymous_mb", "shared_mb"),
    *("block_events", "steps", "hiccups_ms", "events", "seconds", "events_per_second", "verified", "result"),
    *("result_rows", "error"),
)
_SHOWN_ROWS = 1_000


@dataclass(frozen=True)
class SparkPlan:
    """What to run on Spark. folder: staged events, a path or any URI that Hadoop reads; master: Spark's; streaming: by
    Structured Streaming instead of as a batch; events: at most so many of the staged ones."""

    queries: tuple[str, ...]
    folder: str
    master: str = LOCAL
    streaming: bool = False
    events: int | None = None

    @property
    def of_site(self) -> bool:
        """Whether other machines have a part in it, and Spark's and Hadoop's settings for them are to hold."""
        return not self.master.startswith("local") or is_of_site(self.folder)

    def __post_init__(self) -> None:
        for query in self.queries:
            if self.streaming and query in NOT_STREAMED:
                raise OptionError(f"{query} cannot run with --streaming: {NOT_STREAMED[query]}; leave --streaming out")


@contextmanager
def run_on_spark(plan: SparkPlan, keep: bool = False) -> Iterator[list[tuple[dict[str, Any], pa.Table | None]]]:
    """Run the plan's queries in one Spark session. Yields an outcome for each, with the keys of a run on TokenRing, and
    its rows: None if they are many and need not be kept. The outcome of a query that failed has an `error`.

    seconds: from the query's start to its end, without the session's own start; cpu_seconds and peak_rss_mb: of the JVM
    that drives. Large results go nowhere unless they are to be kept, and then to Parquet files within the block.
    Raises SparkError if Spark itself fails, StagedError if there are no events.
    """
    kept = [query for query in plan.queries if keep or QUERIES[query].is_small]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tokenring-spark-")))
        rows = scratch / "rows"
        arguments = {
            "app": f"tokenring run {' '.join(plan.queries)}",
            "master": plan.master,
            "of_site": plan.of_site,
            "input": stack.enter_context(readable(plan.folder)),
            "queries": plan.queries,
            "streaming": plan.streaming,
            "events": plan.events,
            "kept": kept,
            "keep": str(rows),
        }
        started_s = time.monotonic()
        told = run_spark_job("tokenring.nexmark.scale_out.job", arguments, scratch)
        if "input_error" in told:
            raise StagedError(told["input_error"])
        wall_seconds = time.monotonic() - started_s
        shared = {
            "engine": "spark",
            "mode": "streaming" if plan.streaming else "batch",
            "master": plan.master,
            "workers": told["workers"],
            "start_seconds": wall_seconds - sum(run.get("seconds", 0.0) for run in told["runs"]),
            "wall_seconds": wall_seconds,
            "dnf": False,
            **dict.fromkeys(_NONE),
        }
        outcomes = []
        for query, run in zip(plan.queries, told["runs"], strict=True):
            table = _rows(rows / query, query) if query in kept and "error" not in run else None
            outcome = {"query": query, **shared, **run}
            if "seconds" in run:
                outcome["events_per_second"] = run["events"] / run["seconds"]
            if table is not None:
                outcome |= {"result": table.slice(0, _SHOWN_ROWS).to_pylist(), "result_rows": table.num_rows}
            outcomes.append((outcome, table))
        yield outcomes


def verify_by_tokenring(plan: SparkPlan, outcome: dict[str, Any], rows: pa.Table) -> list[str]:
    """Compare rows from Spark with TokenRing's own, and note in the outcome whether they are the same; returns what
    differs in words. The folder must be one of this machine."""
    import pyarrow.parquet as pq

    from tokenring.nexmark.oracle import differences
    from tokenring.nexmark.run import Plan, executed

    query = QUERIES[outcome["query"]]
    local = Plan(query.name, require_local(plan.folder), events=plan.events)
    with executed(local, keep=True) as (_, own), tempfile.TemporaryDirectory(prefix="tokenring-rows-") as folder:
        own = query.checked_as(own)
        expected = Path(folder) / "own.parquet"
        pq.write_table(own, expected)
        schema = own.schema
        found = differences(rows.select(schema.names).cast(schema), expected, query.key or query.sort_by)
    outcome["verified"] = not found
    return found


def require_local(folder: str) -> str:
    """The folder's path on this machine; OptionError if it is elsewhere."""
    if not scheme_of(folder):
        return folder
    if is_of_site(folder):
        raise OptionError(
            f"--verify compares Spark's rows with TokenRing's own, which reads {folder} only where it is a folder of "
            "this machine; leave --verify out, or copy the events here"
        )
    return re.sub(r"^/+", "/", folder[len("file:") :])


def _rows(folder: Path, query: str) -> pa.Table:
    """The rows that Spark wrote; with the result's columns in their order, and sorted as it, where all are there."""
    import pyarrow.parquet as pq

    table = pq.read_table(sorted(folder.glob("*.parquet")))
    result, order = QUERIES[query].result, QUERIES[query].sort_by
    if set(table.column_names) == set(result.names):
        table = table.select(list(result.names)).cast(result.to_arrow())
    return table.sort_by([(name, "ascending") for name in order]) if order else table
