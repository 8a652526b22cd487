"""The oracle's answers to Q4 and Q7: computed by Spark SQL in a process of its own, and kept beside the events.

It shares no code with the engine and reads the Parquet files, which the engine does not.
`python -m nexmark.oracle q4 DIR [N]` prints an answer as JSON.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from nexmark.errors import CommandError, OptionError
from nexmark.spark_process import plain_path, run_spark_job
from nexmark.staged import StagedEvents

Answer = list[dict[str, int]]

QUERIES: Final = {"q4": ("category", "average", "count"), "q7": ("window_end", "price")}
"""The columns of each query's answer; the first is its key."""

CACHE: Final = ".oracle"
_CACHE_VERSION: Final = 1
_SHOWN: Final = 5


def oracle(
    query: str, staged_dir: str | os.PathLike[str], events: int | None = None, *, master: str = "local[*]"
) -> Answer:
    """The right answer over the events with `event < events` (default all), sorted by its first column.

    q4: [{category, average, count}]; a bid is valid when price >= reserve and auction.date_time <= bid.date_time <
    expires; an auction's winning price is its greatest valid one; average is total // count.
    q7: [{window_end, price}]; windows of 10 s aligned at 0, the greatest price of each window that has a bid.
    """
    if query not in QUERIES:
        raise OptionError(f"query is {query!r}; the oracle answers {', '.join(QUERIES)}")
    staged = StagedEvents.open(staged_dir)
    limit = staged.events if events is None else min(events, staged.events)
    if limit < 0:
        raise OptionError(f"events is {limit}; it must not be negative")
    cache = staged.folder / CACHE / f"{query}-{limit}.json"
    kept = _read_cache(cache, staged.digest)
    if kept is not None:
        return kept
    with (
        tempfile.TemporaryDirectory(prefix="tokenring-oracle-") as scratch,
        plain_path(staged.folder.absolute()) as folder,
    ):
        arguments = {
            "app": f"tokenring oracle {query}",
            "master": master,
            "query": query,
            "events": limit,
            "parquet": {name: str(folder / staged.stream(name).parquet.name) for name in ("bid", "auction")},
            "rows": staged.stream("bid").rows,
        }
        answer: Answer = run_spark_job("nexmark.oracle_job", arguments, Path(scratch))
    _write_cache(cache, staged.digest, answer)
    return answer


def compare(result: list[dict[str, Any]], expected: Answer) -> list[str]:
    """The first differences in words; empty when the answers are equal, row by row and in order."""
    if result == expected:
        return []
    if not expected:
        return [f"{len(result)} rows where none were expected, the first {result[0]}"]
    key = next(iter(expected[0]))
    wanted = {row[key]: row for row in expected}
    got = {row.get(key): row for row in result}
    differences = [f"{key} {k}: expected {row}, but it is missing" for k, row in wanted.items() if k not in got]
    differences += [f"{key} {k}: {row} was not expected" for k, row in got.items() if k not in wanted]
    differences += [
        f"{key} {k}: {name} is {got[k].get(name)}, expected {value}"
        for k, row in wanted.items()
        if k in got
        for name, value in row.items()
        if got[k].get(name) != value
    ]
    if not differences:
        differences = [f"the same {len(wanted)} keys, but repeated, with other columns, or not sorted by {key}"]
    more = len(differences) - _SHOWN
    return differences[:_SHOWN] + ([f"and {more} more differences"] if more > 0 else [])


def _read_cache(path: Path, digest: str) -> Answer | None:
    try:
        kept = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    if not isinstance(kept, dict) or (kept.get("version"), kept.get("digest")) != (_CACHE_VERSION, digest):
        return None
    answer: Answer = kept["answer"]
    return answer


def _write_cache(path: Path, digest: str, answer: Answer) -> None:
    """Keeps the answer; a folder that cannot be written to just goes without."""
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        kept = orjson.dumps({"version": _CACHE_VERSION, "digest": digest, "answer": answer})
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(kept)
        os.replace(file.name, path)


def main(arguments: list[str]) -> int:
    """Prints the answer to `QUERY DIR [EVENTS]`."""
    if len(arguments) not in (2, 3):
        print("usage: python -m nexmark.oracle q4|q7 DIR [EVENTS]", file=sys.stderr)
        return 2
    try:
        events = int(arguments[2]) if len(arguments) == 3 else None
        answer = oracle(arguments[0], arguments[1], events)
    except CommandError as error:
        print(f"oracle: error: {error}", file=sys.stderr)
        return error.exit_status
    except ValueError:
        print(f"oracle: error: EVENTS is {arguments[2]!r}; it must be an integer", file=sys.stderr)
        return 2
    sys.stdout.buffer.write(orjson.dumps(answer, option=orjson.OPT_INDENT_2) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
