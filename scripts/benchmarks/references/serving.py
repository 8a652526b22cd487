"""What the references' processes share: questions on standard input, answers on standard output, a line each."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson
import pyarrow as pa

from scripts.benchmarks.references.answers import fingerprint, small_result
from tokenring.nexmark.events.schema import EVENT, STREAMS
from tokenring.nexmark.queries import QUERIES

Answer = Callable[[str, int], Iterable[pa.RecordBatch]]
"""answer(query, threads): its rows as they come."""


def columns_read(name: str, queries: Sequence[str]) -> list[str]:
    """The columns of a stream that the queries or their answers' order read."""
    read = [column for query in queries for column in QUERIES[query].reads.get(name, ())]
    return list(dict.fromkeys((*STREAMS[name].integer_columns, EVENT, *read)))


def answer_all(answer: Answer) -> None:
    """Answer what is asked until there is nothing more; rows are taken in batches and dropped, as the engine's are."""
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
