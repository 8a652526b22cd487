"""What the processes of a benchmark do, whichever engine's they are: answer one query and end, or whatever is asked.

It imports little: what it takes to start counts in `benchmark road`.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import pyarrow as pa

INTEGERS, TEXTS = "integers", "texts"
STREAMS = {
    "bid": {INTEGERS: "auction bidder price date_time event", TEXTS: "channel url extra"},
    "auction": {
        INTEGERS: "id initial_bid reserve date_time expires seller category event",
        TEXTS: "item_name description extra",
    },
    "person": {INTEGERS: "id date_time event", TEXTS: "name email_address credit_card city state"},
}
"""The columns of each stream; in files of text somebody has to say of which kind they are."""
FORMATS = {"parquet": "parquet", "csv": "csv", "json-lines": "jsonl"}
"""What files end with: of Parquet a folder of them does."""
TABLE, PARQUET = ANSWERED = ("table", "parquet")
"""As what an answer is had: an Arrow table in memory, or Parquet."""
COMPRESSION: Final = "snappy"
"""Of answers as Parquet, whose writers have different ones by default."""
BATCH_ROWS = 1 << 16
"""How many rows a reference hands over at once."""


class Files(NamedTuple):
    """The three streams in a folder."""

    folder: Path
    format: str = "parquet"

    def of(self, stream: str) -> Path:
        """The file, or the folder of files, of a stream."""
        return self.folder / f"{stream}.{FORMATS[self.format]}"

    def all(self) -> list[Path]:
        """All files of all streams."""
        found = [self.of(stream) for stream in STREAMS]
        return [file for one in found for file in (one.glob("*.parquet") if one.is_dir() else [one])]


def columns_of(stream: str, integer: Any, text: Any) -> dict[str, Any]:
    """A stream's columns by name, as an engine calls the two kinds."""
    called = {INTEGERS: integer, TEXTS: text}
    return {name: called[kind] for kind, names in STREAMS[stream].items() for name in names.split()}


Answer = Callable[[str, int], Iterable[pa.RecordBatch]]
"""answer(query, threads): its rows as they come."""


def answer_one(
    queries: Iterable[str],
    answer: Callable[[str, Files, int], pa.Table],
    write: Callable[[str, Files, int, Path], None],
) -> None:
    """Answer what the command line asks for; prints {"running_s"} as one line of JSON.

    answer(query, files, workers) gives all rows as a table; write(query, files, workers, to) leaves them as Parquet, in
    a file or a folder of files. The call of either is what is timed.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("query", choices=[*queries])
    parser.add_argument("--input", required=True, type=Path, help="a folder of files, such as a staged one's Parquet")
    parser.add_argument("--format", choices=[*FORMATS], default="parquet", help="of the files that are read")
    parser.add_argument("--workers", type=int, default=1, help="workers, or threads")
    parser.add_argument("--answer", choices=ANSWERED, default=TABLE, help="as what it is had")
    parser.add_argument("--out", type=Path, help="where Parquet goes; of a table, an Arrow file that is not timed")
    asked = parser.parse_args()
    files = Files(asked.input, asked.format)
    start_s = time.perf_counter()
    if asked.answer == PARQUET:
        write(asked.query, files, asked.workers, asked.out)
        _say({"running_s": time.perf_counter() - start_s})
        return
    table = answer(asked.query, files, asked.workers)
    _say({"running_s": time.perf_counter() - start_s})
    if asked.out is not None:
        with pa.ipc.new_file(str(asked.out), table.schema) as writer:
            writer.write_table(table)


def columns_read(name: str, queries: Sequence[str]) -> list[str]:
    """The columns of a stream that the queries or their answers' order read."""
    from tokenring.nexmark.events.schema import EVENT
    from tokenring.nexmark.events.schema import STREAMS as STAGED
    from tokenring.nexmark.queries import QUERIES

    read = [column for query in queries for column in QUERIES[query].reads.get(name, ())]
    return list(dict.fromkeys((*STAGED[name].integer_columns, EVENT, *read)))


def answer_all(answer: Answer) -> None:
    """Answer what is asked until there is nothing more: questions on standard input, answers on standard output, a line
    each; rows are taken in batches and dropped, as the engine's are."""
    from scripts.benchmarks.references.answers import fingerprint, small_result
    from tokenring.nexmark.queries import QUERIES

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too; whoever asks us ends us
    _say({"ready": True})
    for line in sys.stdin.buffer:
        asked = orjson.loads(line)
        query = QUERIES[asked["query"]]
        threads = int(asked["threads"])
        if asked["whole"]:
            _say({"fingerprint": fingerprint(query, answer(query.name, threads))})
            continue
        start_s = time.monotonic()
        rows, kept = 0, []
        for batch in answer(query.name, threads):
            rows += batch.num_rows
            kept += [batch] if query.is_small else []
        seconds = time.monotonic() - start_s
        _say({"seconds": seconds, "rows": rows, "result": small_result(query, kept)})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.flush()
