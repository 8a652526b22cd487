"""Every operator of the library in a loop: the same answers however epochs, rounds and workers interleave, or refused.

An operator that is exported is in one of the tables below: a new one is classified, or a test fails.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.exported import exported
from tokenring import operators
from tokenring.engine import MAX_TIME, GraphError, OperatorError, Schema, Scope, Stream, Worker
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Latest,
    Max,
    Mean,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    distinct,
    filter,
    graphs,
    iterate,
    select,
    union,
    with_columns,
)
from tokenring.operators.mechanisms import use
from tokenring.operators.staging import stage_files

ROW = Schema("node left at")
ROWS = pa.table({name: [1] for name in ROW.names})


def edges(rows: Stream) -> Stream:
    return select(rows, src=col("node"), dst=col("left") % 5)


def other(rows: Stream) -> Stream:
    return select(rows, "node", weight=col("left"))


def twice(batch: Any) -> Any:
    return {name: np.repeat(batch[name], 2) for name in ROW.names}


def numbered(state: int | None, row: Any) -> Any:
    n = (state or 0) + 1
    return n, {"n": n}


ANSWERS: dict[str, Callable[[Stream], Stream]] = {
    # Stateless, or nothing but time: each message is answered by itself.
    "branch": lambda s: union(*operators.branch(s, col("left") > 2)),
    "partition": lambda s: operators.partition(s, 2, col("at") % 2)[1],
    "broadcast": operators.broadcast,
    "exchange": lambda s: operators.exchange(s, "node left"),
    "union": lambda s: union(s, s),
    "filter_batches": lambda s: operators.filter_batches(s, lambda batch: batch["left"] > 1),
    "map_batches": lambda s: operators.map_batches(s, ROW, twice),
    "filter_rows": lambda s: operators.filter_rows(s, lambda row: row["left"] > 1),
    "map_rows": lambda s: operators.map_rows(s, ROW, lambda row: {**row, "at": -row["at"]}),
    "flat_map_rows": lambda s: operators.flat_map_rows(s, ROW, lambda row: [row, row]),
    "filter": lambda s: filter(s, "left", ">", 1),
    "with_columns": lambda s: with_columns(s, x=col("left") * 2),
    "select": lambda s: select(s, "left"),
    "with_arrival": lambda s: operators.with_arrival(s, "came", lambda: 7),
    "rename": lambda s: operators.rename(s, node="key"),
    "drop_columns": lambda s: operators.drop_columns(s, "left"),
    "inspect": lambda s: operators.inspect(s, lambda batch, time: None),
    "no_op": lambda s: operators.no_op(s, "node"),
    "enrich": lambda s: operators.enrich(s, {"node": [0, 2], "weight": [5, 6]}, on="node", how="left"),
    "as_rows": operators.as_rows,
    "collection": lambda s: operators.collection(s).stream,
    "limited": lambda s: operators.limited(s, lambda rows: operators.exchange(rows, "left"), most=3),
    "iterate": lambda s: iterate(s, lambda rows: tuple(operators.branch(rows, col("left") < 0))),  # type: ignore[arg-type,return-value]
    # State by epoch; rounds in order.
    "distinct": lambda s: select(distinct(s, "node"), "node"),
    "distinct of rows": distinct,
    "last_by": lambda s: operators.last_by(s, "node", order="at"),
    "top": lambda s: operators.top(s, "node", order="left", k=2, ties="at"),
    "top of one": lambda s: operators.top(s, "node", order="left", k=1, ties="at"),
    "top of all": lambda s: operators.top(s, order="left", k=2, ties="at"),
    "count": lambda s: operators.count(s, "node"),
    "aggregate": lambda s: aggregate(
        s, "node", n=Count(), total=Sum("left"), most=Max("left"), mean=Mean("left"), kinds=CountDistinct("left"),
        first=First("left", order="at"), last=Last("left", order="at"),
    ),
    "scan": lambda s: operators.scan(s, "node", numbered, Schema("n")),
    "running_average": lambda s: select(operators.running_average(s, "node", "left"), "node", "count"),
    # By each time, however it compares with others.
    "look_up": lambda s: operators.look_up(select(s, "node"), "node", distinct(select(s, "node", x=col("node"))), "x"),
    "connected_components": lambda s: graphs.connected_components(edges(s)),
    "strongly_connected_components": lambda s: graphs.strongly_connected_components(edges(s)),
    "ends": lambda s: distinct(graphs.ends(edges(s))),
    "least_values": lambda s: graphs.least_values(edges(s), other(s)),
    "page_rank": lambda s: operators.map_batches(
        graphs.page_rank(edges(s), 5, 3), Schema("x y"), lambda b: {"x": b["node"], "y": (b["rank"] * 1e6).astype(int)}
    ),
}  # fmt: skip

SINKS = {"collect", "for_each"}
"""They keep or show rows of any times as they come: test_sinks_in_a_loop."""

REFUSED: dict[str, Callable[[Stream], Any]] = {
    "aggregate of all": lambda s: aggregate(s, n=Count(), emit="final"),
    "aggregate of each": lambda s: aggregate(s, "node", n=Count(), emit="each"),
    "count at the end": lambda s: operators.count(s, "node", emit="final"),
    "last_by of each": lambda s: operators.last_by(s, "node", order="at", emit="each"),
    "last_by at the end": lambda s: operators.last_by(s, "node", order="at", emit="final"),
    "top of each": lambda s: operators.top(s, "node", order="left", k=2, emit="each"),
    "top of one at the end": lambda s: operators.top(s, "node", order="left", k=1, emit="final"),
    "aggregate by window": lambda s: aggregate(s, "node", window=Sliding("at", 4, 2), n=Count()),
    "aggregate by session": lambda s: aggregate(s, "node", window=Session("at", 4), n=Count(), late=True),
    "top by window": lambda s: operators.top(s, "node", order="left", k=2, window=Tumbling("at", 4)),
    "reduce": lambda s: operators.reduce(s, "node", lambda rows, starts: {"x": starts}, Schema("x")),
    "arrange": lambda s: operators.arrange(s, "node", "left"),
    "average_of_last": lambda s: operators.average_of_last(s, "node", "left", rows=2, order="at"),
    "best_offers": lambda s: operators.best_offers(
        s, s, key="at", start="left", end="at", threshold="left", payload="node",
        offer_key="node", offer_time="at", offer_value="left",
    ),
    "delay": lambda s: operators.delay(s, 1),
    "enrich by a stream": lambda s: operators.enrich(s, other(s), on="node"),
    "join": lambda s: operators.join(s, other(s), on="node"),
    "join of rows that match nothing": lambda s: operators.join(s, other(s), on="node", how="anti"),
    "join by window": lambda s: operators.join(s, s, on="node", columns="node", window=Tumbling("at", 5)),
    "interval_join": lambda s: operators.interval_join(
        s, s, on="node", left_time="at", right_time="at", upper=3, columns="node"
    ),
    "temporal_join": lambda s: operators.temporal_join(
        s, other(s), on="node", time="at", version_time="weight", late=True
    ),
    "no_op under watermarks": lambda s: operators.no_op(s, "node"),
    "latest": lambda s: operators.latest(s, "node"),
    "running_average with latest": lambda s: operators.running_average(
        s, "node", "left", latest=Latest(("node", "average", "count"))
    ),
    "tumbling_average": lambda s: operators.tumbling_average(s, "at", "left", 5),
    "word_count": lambda s: operators.word_count(s, "node", "at"),
    "for_each in order": lambda s: operators.for_each(s, lambda time, batch: None, in_order=True),
    "capture": lambda s: operators.capture(s, "/nowhere"),
    "to_parquet": lambda s: operators.to_parquet(s, "/nowhere"),
    "to_arrow_files": lambda s: operators.to_arrow_files(s, "/nowhere"),
    "to_csv": lambda s: operators.to_csv(s, "/nowhere"),
    "to_json_lines": lambda s: operators.to_json_lines(s, "/nowhere"),
    "to_database": lambda s: operators.to_database(s, "/nowhere/it.db", "rows"),
    "to_delta": lambda s: operators.to_delta(s, "/nowhere"),
    "replay": lambda s: operators.replay(s.scope, "/nowhere"),
    "read_arrow": lambda s: operators.read_arrow(s.scope, ROWS, time="at"),
    "read_columns": lambda s: operators.read_columns(s.scope, ROW, {name: "rows.npy" for name in ROW.names}, time="at"),
    "read_csv": lambda s: operators.read_csv(s.scope, "rows.csv", ROW, time="at"),
    "read_json_lines": lambda s: operators.read_json_lines(s.scope, "rows.jsonl", ROW, time="at"),
    "read_parquet": lambda s: operators.read_parquet(s.scope, "rows.parquet", time="at"),
    "read_staged": lambda s: operators.read_staged(s.scope, "staged"),
    "new_collection": lambda s: operators.new_collection(s.scope, ROW),
    "engine_events": lambda s: operators.engine_events(s.scope),
    "from_callback": lambda s: operators.from_callback(s.scope, ROW, lambda: None),
    "from_generator": lambda s: operators.from_generator(s.scope, ROW, lambda worker, peers: iter(()), time="at"),
}  # fmt: skip

def test_every_operator_is_classified() -> None:
    classified = {name.split()[0] for name in (*ANSWERS, *REFUSED, *SINKS)}
    assert classified == exported()


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_a_loop(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("node,left,at\n1,1,1\n")
    np.save("rows.npy", np.zeros(1, np.int64))
    pq.write_table(ROWS, "rows.parquet")
    stage_files("rows.parquet", "staged", time="at")
    Path("rows.jsonl").write_text('{"node": 1, "left": 1, "at": 1}\n')
    scope = Scope("refusing")
    if name.endswith("under watermarks"):
        use(scope, "watermarks-X")
    stream = scope.new_input(ROW)[1]
    with scope.loop("round") as loop, pytest.raises(GraphError):
        REFUSED[name](loop.enter(stream))


Epochs = list[list[tuple[int, int]]]


def answers(
    declare: Callable[[Stream], Stream], epochs: dict[int, list[tuple[int, int]]], workers: int, order: list[int]
) -> list[tuple[Any, ...]]:
    """(time, *row) of all that the operator sends in a loop whose rows go round, changing worker, while `left` > 0.
    order: workers that step between the sending of one epoch's rows and the next's."""
    found: list[tuple[Any, ...]] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROW)

        def body(rows: Stream) -> tuple[Stream, Stream]:
            def record(time: Any, batch: Any) -> None:
                columns = [batch[name].tolist() for name in batch.schema.names]
                found.extend((time, *row) for row in zip(*columns, strict=True))

            operators.for_each(declare(rows), record, name="record")
            more = filter(rows, "left", ">", 0)
            again = with_columns(more, node=(col("node") * 3 + col("left")) % 5, left=col("left") - 1)
            return operators.exchange(again, ("node", "left")), rows

        iterate(stream, body)
        return handle

    with simulated(workers) as group:
        handles = build(group, on_worker)
        for epoch, rows in epochs.items():
            for worker, handle in enumerate(handles):
                mine = rows[worker::workers]
                at = range(1000 * epoch + worker, 1000 * epoch + len(rows), workers)
                handle.advance_to(epoch)
                handle.send({"node": [row[0] for row in mine], "left": [row[1] for row in mine], "at": [*at]})
            for worker in order:
                group.workers[worker % workers].step()
        for handle in handles:
            handle.close()
        settle(group, 20_000)
        assert all(worker.complete for worker in group.workers)
    return sorted(found)


@pytest.mark.filterwarnings("ignore::tokenring.operators.RowwiseWarning")
@pytest.mark.parametrize("name", ANSWERS)
@settings(max_examples=examples(8))
@given(
    epochs=st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=8), min_size=2, max_size=3),
    workers=st.integers(1, 4),
    order=st.lists(st.integers(0, 3), max_size=30),
)
def test_answers_in_a_loop(name: str, epochs: Epochs, workers: int, order: list[int]) -> None:
    """All epochs at once, on some workers in some order, are what each epoch is alone on one worker."""
    alone = [answers(ANSWERS[name], {epoch: rows}, 1, []) for epoch, rows in enumerate(epochs)]
    expected = sorted(row for rows in alone for row in rows for _ in range(workers if name == "broadcast" else 1))
    assert answers(ANSWERS[name], dict(enumerate(epochs)), workers, order) == expected


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_come_round_is_told(workers: int) -> None:
    """Final results are of the last time, behind which there is none: rows would be missing."""

    def countdown(scope: tr.Scope) -> Any:
        rows = scope.read_arrow(pa.table({"k": [1, 1, 1]}))
        totals = rows.aggregate("k", n=tr.Count(), emit="final")
        back = scope.feedback(totals.schema)
        counted = totals.union(back.stream)
        back.connect(counted.filter(tr.col("n") > 0).with_columns(n=tr.col("n") - 1))
        return counted.collect()

    with raises(OperatorError, "operator 'union'", "around a loop", str(MAX_TIME), "leave the loop"):
        tr.run(countdown, workers=workers)
