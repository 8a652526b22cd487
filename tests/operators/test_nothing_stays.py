"""What operators, readers and queues keep does not grow with the epochs that went by: bytes and rows, counted.

A third of the epochs warms up; what there is then is what there may be in the end, but for a little that lists of
Python have more room for than they need. Where state is by key for ever keys come again; elsewhere none ever does.
"""

from __future__ import annotations

import ctypes
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import build, settle, simulated
from tests.engine.native.scripted import forward, later, operate
from tokenring.engine import Exchange, InputPort, OperatorContext, Schema, Scope, Stream, Worker, execute
from tokenring.engine.native.memory import MOST_KEPT_BYTES
from tokenring.operators import (
    Count,
    CountDistinct,
    Last,
    Max,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    as_rows,
    average_of_last,
    col,
    collection,
    delay,
    distinct,
    enrich,
    exchange,
    filter,
    for_each,
    from_generator,
    interval_join,
    iterate,
    join,
    last_by,
    limited,
    read_csv,
    read_json_lines,
    read_parquet,
    read_staged,
    reduce,
    running_average,
    scan,
    select,
    temporal_join,
    top,
    with_columns,
)
from tokenring.operators.staging import stage_files

EACH, WARM, LONG = 40, 20, 60
"""Rows an epoch, of each input, and epochs."""
STEP = 10
"""Of time, an epoch."""
SLACK_BYTES = 24_000
"""Lists, dictionaries and tables have room for more than is in them, and take it in steps."""
ROWS, OTHERS = Schema("at key again value share"), Schema("then id once worth part")
"""`key` never comes again, `again` does."""


def total(rows: Any, starts: np.ndarray) -> dict[str, np.ndarray]:
    return {"total": np.add.reduceat(rows["value"], starts)}


def steps(state: Any, row: Any) -> Any:
    """Forgets a key at its third row."""
    seen = (state or 0) + 1
    return (None if seen == 3 else seen), {"seen": seen}


def rounds(rows: Stream) -> Stream:
    def body(rows: Stream) -> tuple[Stream, Stream]:
        again = filter(exchange(with_columns(rows, share=col("share") - 1), "key"), "share", ">", 0)
        return again, distinct(select(rows, "again"), "again")

    return iterate(rows, body)


FOLDS: dict[str, Any] = {"n": Count(), "sum": Sum("value"), "low": Min("value"), "high": Max("value")}
BEST: dict[str, Any] = {"kinds": CountDistinct("value"), "last": Last("value", order="value")}
WINDOWS = {"tumbling": Tumbling("at", STEP), "sliding": Sliding("at", 3 * STEP, STEP), "session": Session("at", 4)}
HOWS = ("inner", "left", "full", "semi", "anti")
NUMBERS = {"value": "left.value"}

OPERATORS: dict[str, Callable[[Stream, Stream], Stream]] = {
    **{f"{name} window": lambda a, b, w=w: aggregate(a, "key", window=w, **FOLDS) for name, w in WINDOWS.items()},
    **{f"{name} window of all": lambda a, b, w=w: aggregate(a, window=w, **FOLDS) for name, w in WINDOWS.items()},
    **{f"{name} window, sets": lambda a, b, w=w: aggregate(a, "key", window=w, **BEST) for name, w in WINDOWS.items()},
    "top of a window": lambda a, b: top(a, "key", order="value", k=2, window=WINDOWS["tumbling"]),
    "reduce": lambda a, b: reduce(a, "key", total, Schema("total"), window=WINDOWS["tumbling"]),
    "running": lambda a, b: aggregate(a, "again", **FOLDS),
    "running of all": lambda a, b: aggregate(a, **FOLDS),
    "top": lambda a, b: top(a, "again", order="value", k=3),
    "last_by": lambda a, b: last_by(a, "again", order="value"),
    "distinct": lambda a, b: distinct(select(a, "again"), "again"),
    "average_of_last": lambda a, b: average_of_last(a, "again", "value", rows=3, order="at"),
    "running_average": lambda a, b: running_average(a, "again", "value"),
    "scan": lambda a, b: scan(a, "again", steps, Schema("seen")),
    "delay": lambda a, b: delay(a, 3 * STEP),
    "enrich": lambda a, b: enrich(a, b, on={"again": "once"}, columns=["value", "worth"]),
    "temporal_join": lambda a, b: temporal_join(
        a, b, on={"again": "once"}, time="at", version_time="then", columns=["value", "worth"]
    ),
    **{
        f"join {how} by window": lambda a, b, how=how: join(
            a, b, on={"key": "id"}, how=how, window=WINDOWS["sliding"], right_time="then", columns=NUMBERS
        )
        for how in HOWS
    },
    **{
        f"interval_join {how}": lambda a, b, how=how: interval_join(
            a, b, on={"key": "id"}, how=how, left_time="at", right_time="then", lower=-STEP, upper=STEP, columns=NUMBERS
        )
        for how in HOWS
    },
    **{
        f"join {how} of a unique side": lambda a, b, how=how: join(
            a, select(distinct(b, "once"), "once"), on={"again": "once"}, how=how, unique="right", columns=NUMBERS
        )
        for how in ("inner", "left")
    },
    "limited": lambda a, b: limited(a, lambda rows: exchange(rows, "key"), most=50),
    "loop": lambda a, b: rounds(a),
    "collection": lambda a, b: collection(select(a, "again", "value"), key="again").count("value").changes(),
}


def sent(number: int, schema: Schema) -> dict[str, np.ndarray]:
    """An epoch's rows."""
    n = np.arange(EACH)
    numbers = number * EACH + n
    columns = [number * STEP + n % STEP, numbers, n % 7, numbers % 1009, n % 2]
    return dict(zip(schema.names, columns, strict=True))


def kept_rows(group: Any) -> int:
    """What operators say that they keep, what waits at inputs and for room, and counts of times that are under way."""
    rows = 0
    for worker in group.workers:
        for operator in worker.inspection.operators:
            view = operator.view() if operator.view is not None else {}
            rows += sum(view[name] for name in ("left", "right", "epochs", "rows") if name in view)
        rows += worker.world.state.waiting + worker.plane.backlog_bytes
        tables = worker.tracker.tables
        rows += sum(len(worker.tracker.entries.at(location)) for location in range(tables.locations_used))
        text = worker.world.state
        assert text.waiting_text_at - text.waiting_text == 0
        assert text.chunks_bytes <= MOST_KEPT_BYTES
    return rows


def nothing(context: OperatorContext) -> Callable[[InputPort], None]:
    def logic(port: InputPort) -> None:
        for _ in port:
            pass

    return logic


def as_shown(name: str, a: Stream, b: Stream) -> Stream:
    made = OPERATORS[name](a, b)
    return as_rows(made) if made.updates is not None else made


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_keeps_what_it_needs(name: str) -> None:
    workers = 1 + list(OPERATORS).index(name) % 2

    def declare(worker: Worker, scope: Scope) -> Any:
        inputs, streams = zip(*[scope.new_input(schema) for schema in (ROWS, OTHERS)], strict=True)
        as_shown(name, *streams).sink("nothing", nothing)
        return inputs

    with simulated(workers, queue_bytes=1 << 14, ring_records=1 << 10) as group:
        handles = build(group, declare)

        def epochs(first: int, last: int) -> tuple[int, int]:
            """Bytes and rows at the most of those epochs' ends."""
            most_bytes = most_rows = 0
            for number in range(first, last):
                for at, schema in enumerate((ROWS, OTHERS)):
                    rows = sent(number, schema)
                    for worker, inputs in enumerate(handles):
                        inputs[at].send({each: values[worker::workers] for each, values in rows.items()})
                for inputs in handles:
                    for handle in inputs:
                        handle.advance_to((number + 1) * STEP)
                settle(group, 2000)
                if number % 5 == 4:
                    gc.collect()
                    most_bytes = max(most_bytes, tracemalloc.get_traced_memory()[0])
                    most_rows = max(most_rows, kept_rows(group))
            return most_bytes, most_rows

        tracemalloc.start()
        try:
            epochs(0, WARM // 2)
            before_bytes, before_rows = epochs(WARM // 2, WARM)
            after_bytes, after_rows = epochs(WARM, LONG)
        finally:
            tracemalloc.stop()
        for inputs in handles:
            for handle in inputs:
                handle.close()
        group.run()
    assert after_rows <= before_rows + 2
    assert after_bytes <= before_bytes + SLACK_BYTES


class Allocated(ctypes.Structure):
    """What glibc's mallinfo2 gives."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    )]  # fmt: skip


def allocated_bytes() -> int:
    """What this process has of malloc, as kernels and numpy ask for it."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Allocated
    found = mallinfo()
    return int(found.uordblks + found.hblkhd)


@pytest.mark.parametrize("compiled", [True, False])
def test_queues_that_were_full_are_empty_once_more(compiled: bool) -> None:
    """Rows wait for room at their sender, and at their operator for its turn; all that they took is given back."""
    schema, states = Schema("value"), list[np.ndarray]()

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(schema)
        if compiled:
            (stream,) = operate(stream, forward(), pact=Exchange("value"))
            (stream,) = operate(stream, later(), pact=Exchange("value"), states=states)
        stream.sink("nothing", nothing, Exchange("value"))
        return handle

    with simulated(2, queue_bytes=4096) as group:
        handles = build(group, declare)
        kept, sizes = set[int](), list[int]()
        for time in range(60):
            for state in states:
                state[2] = -5
            for worker, handle in enumerate(handles):
                handle.send({"value": np.arange(3000) * (worker + 1)})
                handle.advance_to(time + 1)
            for _ in range(5):  # the other one does not read
                group.workers[time % 2].step()
            waited = [worker.plane.backlog_bytes for worker in group.workers]
            assert max(waited) > 10_000
            settle(group, 5000)
            gc.collect()
            kept.add(kept_rows(group))
            sizes.append(allocated_bytes())
        for handle in handles:
            handle.close()
        group.run()
    assert len(kept) == 1, "what is under way is what an idle dataflow has"
    assert max(sizes[30:]) <= max(sizes[10:30]) + SLACK_BYTES


Reads = Callable[[Scope, Path, int], Stream]


def written(file: Path, rows: int) -> None:
    """The rows in each form of file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = pa.table({"at": np.arange(rows), "name": [f"row {n % 100:08}" for n in range(rows)]})
    pa.csv.write_csv(table, file.with_suffix(".csv"), pa.csv.WriteOptions(quoting_style="none"))
    pa.parquet.write_table(table, file.with_suffix(".parquet"), row_group_size=1000)
    lines = [b'{"at": %d, "name": "row %08d"}' % (n, n % 100) for n in range(rows)]
    file.with_suffix(".jsonl").write_bytes(b"\n".join(lines))
    stage_files(file.with_suffix(".parquet"), file.parent / "staged", time="at", force=True)


def made(rows: int) -> Iterator[dict[str, Any]]:
    """The rows, some at a time."""
    for at in range(0, rows, 500):
        yield {"at": np.arange(at, at + 500), "name": [f"row {n % 100:08}" for n in range(500)]}


TEXT = Schema("at", name="string")
READERS: dict[str, Reads] = {
    "csv": lambda scope, file, rows: read_csv(scope, file.with_suffix(".csv"), TEXT, block_bytes=1 << 14, time="at"),
    "json": lambda scope, file, rows: read_json_lines(
        scope, file.with_suffix(".jsonl"), TEXT, block_bytes=1 << 14, time="at"
    ),
    "parquet": lambda scope, file, rows: read_parquet(scope, file.with_suffix(".parquet"), time="at"),
    "staged": lambda scope, file, rows: read_staged(scope, file.parent / "staged"),
    "generator": lambda scope, file, rows: from_generator(scope, TEXT, lambda *_: made(rows), time="at"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_has_a_block_at_a_time(name: str, tmp_path: Path) -> None:
    """Of five times as many rows no more is there at once."""

    def program(worker: Worker, rows: int) -> int:
        import pyarrow as pa

        seen = 0

        def counted(time: Any, batch: Any) -> None:
            nonlocal seen
            seen += batch.rows

        pool = pa.proxy_memory_pool(pa.default_memory_pool())  # the other one knows what its parent had
        pa.set_memory_pool(pool)
        tracemalloc.start()
        with worker.dataflow() as scope:
            for_each(READERS[name](scope, tmp_path / "rows", rows), counted)
        worker.run()
        assert seen == rows
        return tracemalloc.get_traced_memory()[1] + int(pool.max_memory())

    peaks = []
    for rows in (8_000, 40_000):
        written(tmp_path / "rows", rows)
        (peak,) = execute(lambda worker, rows=rows: program(worker, rows), workers=1)
        peaks.append(peak)
    assert peaks[1] < 1.2 * peaks[0] + SLACK_BYTES
