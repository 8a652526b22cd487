"""A run on behalf of a command: progress shown, errors as one line, its rows at hand, compared with the oracle's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenring.nexmark.errors import SparkError

if TYPE_CHECKING:
    import pyarrow as pa


def execute_plan(plan: Any, on_start: Any = None, rows: Path | None = None) -> dict[str, Any]:
    """Run a plan with a progress bar; the engine's errors become one line each."""
    from tokenring.nexmark.run.runner import run_query
    from tokenring.tools.system import in_one_line, progress_line

    with in_one_line(), progress_line(f"{plan.query}") as progress:
        return run_query(plan, on_progress=progress, on_start=on_start, rows=rows)


@contextmanager
def executed(plan: Any, keep: bool, beside: Path | None = None) -> Iterator[tuple[dict[str, Any], pa.Table | None]]:
    """Run a plan; yields the outcome and the result's rows: None if they are many and need not be kept. Within the
    block they may be in files of a temporary folder, which is made in the folder `beside`."""
    from tokenring.nexmark.queries import QUERIES

    query = QUERIES[plan.query]
    if not keep:
        yield execute_plan(plan), None
    elif query.is_small:
        import pyarrow as pa

        outcome = execute_plan(plan)
        yield outcome, pa.Table.from_pylist(outcome["result"], query.result.to_arrow())
    else:
        from tokenring.engine.group import scratch_folder
        from tokenring.nexmark.run.result_rows import kept_rows

        with scratch_folder("rows", beside) as folder:
            yield execute_plan(plan, rows=folder), kept_rows(folder, query.key)


def verify(plan: Any, outcome: dict[str, Any], rows: pa.Table) -> list[str]:
    """Compare a run's rows with Spark SQL's over the same events, and note in the outcome whether they are the same;
    returns what differs in words."""
    from tokenring.nexmark.oracle import answers, differences
    from tokenring.nexmark.queries import QUERIES

    outcome["verified"] = False
    if outcome["events"] < outcome["planned_events"]:
        return ["the run did not finish"]
    query = QUERIES[plan.query]
    answer = answers([plan.query], plan.input_folder, outcome["events"])[plan.query]
    if isinstance(answer, SparkError):
        raise answer
    found = differences(query.checked_as(rows), answer, query.key or query.sort_by)
    outcome["verified"] = not found
    return found
