"""Sources of the library under every mechanism: the same rows, sent and promised as the mechanism says. Against Python.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.engine.helpers import build, simulated
from tests.errors import raises
from tokenring.engine import GraphError, Schema
from tokenring.operators import (
    END_OF_STREAM,
    Count,
    Tumbling,
    aggregate,
    from_callback,
    from_generator,
    no_op,
    read_arrow,
    read_columns,
    read_json_lines,
    read_parquet,
)
from tokenring.operators.mechanisms import use

SCHEMA = Schema("at k")
WITH_TEXT = Schema(at="int64", k="string?")
DISORDER, WIDTH, ROWS = 6, 25, 240


def _times() -> list[int]:
    """In order up to DISORDER, several rows of one time among them."""
    random_one = random.Random(5)
    return [max(0, row // 2 - random_one.randrange(DISORDER)) for row in range(ROWS)]


TIMES = _times()
TEXTS = [None if at % 5 == 0 else f"key {at % 3}" for at in TIMES]
NUMBERS = [at % 3 for at in TIMES]
TABLE = pa.table({"at": TIMES, "k": pa.array(TEXTS, pa.string())})


def _arrow(scope: Any, folder: Path) -> Any:
    return read_arrow(scope, TABLE, time="at", batch_rows=16)


def _parquet(scope: Any, folder: Path) -> Any:
    file = folder / "rows.parquet"
    if not file.exists():  # on the first worker
        pyarrow.parquet.write_table(TABLE, file, row_group_size=40)
    return read_parquet(scope, file, time="at", batch_rows=16)


def _lines(scope: Any, folder: Path) -> Any:
    (folder / "rows.jsonl").write_bytes(b"\n".join(map(orjson.dumps, TABLE.to_pylist())))
    return read_json_lines(scope, folder / "rows.jsonl", WITH_TEXT, time="at", disorder=DISORDER)


def _columns(scope: Any, folder: Path) -> Any:
    for name, words in (("at", TIMES), ("k", NUMBERS)):
        np.save(folder / f"{name}.npy", np.array(words, np.int64))
    files = {name: folder / f"{name}.npy" for name in ("at", "k")}
    return read_columns(scope, SCHEMA, files, time="at", disorder=DISORDER, batch_rows=16)


def _pieces() -> Iterator[dict[str, Any]]:
    for start in range(0, ROWS, 12):
        yield {"at": TIMES[start : start + 12], "k": TEXTS[start : start + 12]}


def _generator(scope: Any, folder: Path) -> Any:
    return from_generator(scope, WITH_TEXT, _pieces, time="at", disorder=DISORDER)


def _partitions(scope: Any, folder: Path) -> Any:
    def read(name: str) -> Iterator[dict[str, Any]]:
        yield from [*_pieces()][int(name) :: 3]

    return from_generator(scope, WITH_TEXT, read, time="at", disorder=DISORDER, partitions=["0", "1", "2"])


def _callback(scope: Any, folder: Path) -> Any:
    rows = _pieces()
    return from_callback(scope, WITH_TEXT, lambda: next(rows, END_OF_STREAM), time="at", disorder=DISORDER)


SOURCES: dict[str, Callable[[Any, Path], Any]] = {
    "arrow": _arrow,
    "parquet": _parquet,
    "lines": _lines,
    "columns": _columns,
    "generator": _generator,
    "partitions": _partitions,
    "callback": _callback,
}


class _Run:
    """What a dataflow over a source sent, and saw."""

    def __init__(self, way: str, source: str, workers: int, folder: Path) -> None:
        self.windows: Counter[tuple[Any, ...]] = Counter()
        self.messages: list[tuple[int, set[int]]] = []
        """The time of each that the source sent, and those of its rows."""
        self.early = 0
        """How many windows were sent before the source had ended everywhere."""
        with simulated(workers, queue_bytes=1 << 16) as group:
            probes = build(group, lambda worker, scope: self._declare(way, scope, source, folder))
            for _ in range(100_000):
                if not any([worker.step() for worker in group.workers]) and all(probe.done() for probe in probes):
                    break
                if not any(probe.done() for probe in probes):
                    self.early = sum(self.windows.values())
            assert all(probe.done() for probe in probes)

    def _declare(self, way: str, scope: Any, source: str, folder: Path) -> Any:
        mechanism = use(scope, way)
        rows = SOURCES[source](scope, folder)
        rows.sink("messages", self._keep_messages)
        counted = aggregate(rows, "k", window=Tumbling("at", WIDTH), n=Count())
        counted.sink("windows", self._keep_windows)
        return mechanism.probe(rows)

    def _keep_messages(self, context: Any) -> Callable[..., None]:
        def logic(rows: Any) -> None:
            self.messages += [(reference.time, {*batch["at"].tolist()}) for reference, batch in rows]

        return logic

    def _keep_windows(self, context: Any) -> Callable[..., None]:
        def logic(rows: Any) -> None:
            for _, batch in rows:
                self.windows.update(zip(*[batch[name].tolist() for name in ("window_end", "k", "n")], strict=True))

        return logic


def _expected(keys: list[Any]) -> Counter[tuple[Any, ...]]:
    counts = Counter(((at // WIDTH + 1) * WIDTH, key) for at, key in zip(TIMES, keys, strict=True))
    return Counter((*window, count) for window, count in counts.items())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("way", ["tokens", "notifications", "watermarks-X"])
def test_windows_of_a_source_are_right(way: str, source: str, workers: int, tmp_path: Path) -> None:
    run = _Run(way, source, workers, tmp_path)
    assert run.windows == _expected(NUMBERS if source == "columns" else TEXTS)
    assert set().union(*[times for _, times in run.messages]) == {*TIMES}
    if way == "notifications":
        assert all(times == {time} for time, times in run.messages), "a message for each time: it is all Naiad knows"
    elif way == "watermarks-X":
        assert {time for time, _ in run.messages} == {0}, "what is to come is said by marks"
    else:
        assert all(time <= min(times) for time, times in run.messages)
        assert any(len(times) > 1 for _, times in run.messages)
    if source != "lines":  # one message, here
        assert run.early > 0, "the first windows do not wait for the end"


@pytest.mark.parametrize("workers", [1, 2])
def test_local_marks_are_those_of_the_worker_s_own_rows(workers: int, tmp_path: Path) -> None:
    seen: list[int] = []

    def declare(worker: Any, scope: Any) -> Any:
        mechanism = use(scope, "watermarks-P")
        rows = no_op(_partitions(scope, tmp_path), "k", local=True)
        probe = mechanism.probe(rows)
        probe.on_advance(lambda: seen.append(probe.frontier))
        return probe

    with simulated(workers) as group:
        probes = build(group, declare)
        group.run()
        assert all(probe.done() for probe in probes)
    assert len(set(seen)) > 5


def test_a_source_that_has_many_times_at_once_is_refused_where_one_is_let_in(tmp_path: Path) -> None:
    facts = ("source 'read_arrow'", "mechanism='sequential'", "new_input", "probe")
    with raises(GraphError, *facts), simulated() as group:
        build(group, lambda worker, scope: use(scope, "sequential") and _arrow(scope, tmp_path))
    with simulated() as group:  # one time is one at a time
        (stream,) = build(group, lambda worker, scope: use(scope, "sequential") and read_arrow(scope, TABLE))
        group.run()
    assert stream.schema.names == ("at", "k")
