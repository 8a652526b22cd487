"""Streams of updates, such as counts so far: who makes them, hands them on, keeps the newest, or refuses them.

An operator that is exported is in one of the tables below: a new one is classified, or a test fails.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import simulated
from tests.errors import raises
from tests.operators.exported import exported
from tests.operators.helpers import bench
from tokenring import operators
from tokenring.engine import GraphError, Schema, Scope, Stream, Updates
from tokenring.operators import (
    Count,
    Tumbling,
    aggregate,
    as_rows,
    col,
    count,
    distinct,
    filter,
    fluent,
    graphs,
    last_by,
    latest,
    select,
    union,
)

ROW = Schema("key other value")
Declare = Callable[[Stream], Any]

MAKES: dict[str, tuple[Declare, tuple[str, ...]]] = {
    "aggregate": (lambda s: aggregate(s, "key other", n=Count()), ("key", "other")),
    "aggregate of all": (lambda s: aggregate(s, n=Count()), ()),
    "count": (lambda s: count(s, "key"), ("key",)),
    "top": (lambda s: operators.top(s, "key", order="value", k=2), ("key", "rank")),
    "top of one": (lambda s: operators.top(s, "key", order="value", k=1), ("key",)),
    "top of each": (lambda s: operators.top(s, "key", order="value", k=2, emit="each"), ("key", "rank")),
    "last_by": (lambda s: last_by(s, "key", order="value"), ("key",)),
    "last_by of each": (lambda s: last_by(s, "key", order="value", emit="each"), ("key",)),
    "count of each": (lambda s: count(s, "key", emit="each"), ("key",)),
    "running_average": (lambda s: operators.running_average(s, "key", "value"), ("key",)),
}

SAYS_ONCE: dict[str, Declare] = {
    "aggregate at the end": lambda s: aggregate(s, "key", n=Count(), emit="final"),
    "aggregate by window": lambda s: aggregate(s, "key", n=Count(), window=Tumbling("value", 5)),
    "top at the end": lambda s: operators.top(s, "key", order="value", k=2, emit="final"),
    "last_by at the end": lambda s: last_by(s, "key", order="value", emit="final"),
    "top by window": lambda s: operators.top(s, "key", order="value", k=2, window=Tumbling("value", 5)),
    "distinct": lambda s: distinct(s, "key"),
    "as_rows": lambda s: as_rows(count(s, "key")),
}

HANDS_ON: dict[str, tuple[Declare, tuple[str, ...] | None]] = {
    "filter of the key": (lambda s: filter(s, (col("key") > 3) & (col("key") < 9)), ("key",)),
    "filter of the key alone": (lambda s: filter(s, "key", ">", 3), ("key",)),
    "filter": (lambda s: filter(s, col("value") > 3), None),
    "filter alone": (lambda s: filter(s, "value", ">", 3), None),
    "branch of the key": (lambda s: operators.branch(s, col("key") > 3)[1], ("key",)),
    "branch": (lambda s: operators.branch(s, col("key") > 3, col("value") > 3)[0], None),
    "branch by a function": (lambda s: operators.branch(s, lambda batch: batch["key"] > 3)[0], None),
    "partition": (lambda s: operators.partition(s, 2, col("value") % 2)[0], None),
    "select": (lambda s: select(s, "value", k=col("key")), ("k",)),
    "select without the key": (lambda s: select(s, "value"), None),
    "with_columns": (lambda s: operators.with_columns(s, x=col("value") + 1), ("key",)),
    "with_columns for the key": (lambda s: operators.with_columns(s, key=col("key") // 2), None),
    "with_arrival": (lambda s: operators.with_arrival(s, "came"), ("key",)),
    "rename": (lambda s: operators.rename(s, key="k"), ("k",)),
    "drop_columns": (lambda s: operators.drop_columns(s, "key"), None),
    "exchange": (lambda s: operators.exchange(s, "value"), ("key",)),
    "exchange by the key": (lambda s: operators.exchange(s, "key"), ("key",)),
    "exchange by an expression": (lambda s: operators.exchange(s, (col("key") % 7, "key")), ("key",)),
    "broadcast": (operators.broadcast, ("key",)),
    "inspect": (lambda s: operators.inspect(s, lambda batch, time: None), ("key",)),
    "delay": (lambda s: operators.delay(s, 3), ("key",)),
    "no_op": (lambda s: operators.no_op(s, "key"), ("key",)),
    "no_op by another": (lambda s: operators.no_op(s, "value"), ("key",)),
    "no_op where rows are": (lambda s: operators.no_op(s, "value", local=True), ("key",)),
    "union": (lambda s: union(s, s), None),
    "map_batches": (lambda s: operators.map_batches(s, ROW, lambda batch: batch), None),
    "filter_batches": (lambda s: operators.filter_batches(s, lambda batch: batch["key"] > 1), None),
    "map_rows": (lambda s: operators.map_rows(s, ROW, lambda row: row), None),
    "flat_map_rows": (lambda s: operators.flat_map_rows(s, ROW, lambda row: [row]), None),
    "filter_rows": (lambda s: operators.filter_rows(s, lambda row: True), None),
    "enrich": (lambda s: operators.enrich(s, {"value": [1], "x": [1]}, on="value"), None),
    "enrich by the key": (lambda s: operators.enrich(s, {"key": [1], "x": [1]}, on="key"), ("key",)),
    "enrich from the left": (lambda s: operators.enrich(s, {"value": [1], "x": [1]}, on="value", how="left"), ("key",)),
    "temporal_join": (lambda s: operators.temporal_join(s, s, on="key", time="value", version_time="value",
                                                        columns="key left.value"), ("key",)),
    "limited": (lambda s: operators.limited(s, lambda rows: operators.exchange(rows, "value")), ("key",)),
    "iterate": (lambda s: operators.iterate(s, lambda rows: (filter(rows, "key", "<", 0), rows)), None),
}  # fmt: skip

REORDERS = {
    "exchange": "exchange", "limited": "exchange", "no_op by another": "no_op", "broadcast": "broadcast",
    "delay": "delay", "temporal_join": "temporal_join",
}  # fmt: skip
"""Of these, behind whom it is not the last row to come that holds."""

KEEPS_THE_NEWEST: dict[str, Callable[[Stream, str], Any]] = {
    "latest": latest,
    "last_by": lambda s, by: last_by(s, by, order="value"),
    "temporal_join": lambda s, by: operators.temporal_join(
        as_rows(s), s, on=by, time="value", version_time="value", columns="left.key"
    ),
}

REFUSES: dict[str, Declare] = {
    "aggregate": lambda s: aggregate(s, "value", n=Count()),
    "aggregate by window": lambda s: aggregate(s, "key", n=Count(), window=Tumbling("value", 5), late=True),
    "count": lambda s: count(s),
    "distinct": lambda s: distinct(s, "key"),
    "reduce": lambda s: operators.reduce(s, "key", lambda rows, starts: {"x": starts}, Schema("x")),
    "collection": lambda s: operators.collection(s),
    "scan": lambda s: operators.scan(s, "key", lambda state, row: (row["value"], None), Schema("x")),
    "top": lambda s: operators.top(s, "key", order="value", k=3),
    "arrange": lambda s: operators.arrange(s, "key", "value"),
    "average_of_last": lambda s: operators.average_of_last(s, "key", "value", rows=2, order="value"),
    "best_offers": lambda s: operators.best_offers(
        s, s, key="key", start="value", end="other", threshold="value", payload="key",
        offer_key="key", offer_time="other", offer_value="value",
    ),
    "join": lambda s: operators.join(s, as_rows(s), on="key", columns="key"),
    "join of rows that match": lambda s: operators.join(s, as_rows(s), on="key", how="semi"),
    "join by window": lambda s: operators.join(as_rows(s), s, on="key", columns="key", window=Tumbling("value", 5)),
    "interval_join": lambda s: operators.interval_join(
        as_rows(s), s, on="key", left_time="value", right_time="value", upper=3, columns="key", late=True
    ),
    "look_up": lambda s: operators.look_up(as_rows(s), "key", select(s, "key", "value"), "x"),
    "running_average": lambda s: operators.running_average(s, "key", "value"),
    "tumbling_average": lambda s: operators.tumbling_average(s, "value", "key", 5),
    "word_count": lambda s: operators.word_count(s, "key", "value"),
    "least_values": lambda s: graphs.least_values(select(s, "key", "value"), select(as_rows(s), "key", "value")),
    "page_rank": lambda s: graphs.page_rank(select(s, src=col("key"), dst=col("value")), 5, 3),
    "ends": lambda s: distinct(graphs.ends(select(s, src=col("key"), dst=col("value")))),
    "connected_components": lambda s: graphs.connected_components(select(s, src=col("key"), dst=col("value"))),
    "strongly_connected_components": lambda s: graphs.strongly_connected_components(
        select(s, src=col("key"), dst=col("value"))
    ),
}  # fmt: skip

REFUSES |= {
    "enrich by a stream": lambda s: operators.enrich(as_rows(s), s, on="key", columns="left.key"),
}

TAKES_WHAT_COMES: dict[str, Callable[[Stream, Path], Any]] = {
    "collect": lambda s, folder: operators.collect(s),
    "for_each": lambda s, folder: operators.for_each(s, lambda time, batch: None, in_order=True),
    "capture": lambda s, folder: operators.capture(s, folder / "a"),
    "to_parquet": lambda s, folder: operators.to_parquet(s, folder / "b"),
    "to_arrow_files": lambda s, folder: operators.to_arrow_files(s, folder / "c"),
    "to_csv": lambda s, folder: operators.to_csv(s, folder / "e"),
    "to_json_lines": lambda s, folder: operators.to_json_lines(s, folder / "d"),
    "to_database": lambda s, folder: operators.to_database(s, folder / "e", "rows"),
    "to_delta": lambda s, folder: operators.to_delta(s, folder / "f"),
}

SOURCES = {"read_csv", "read_arrow", "read_columns", "read_json_lines", "read_parquet", "read_staged"}
SOURCES |= {"replay", "engine_events", "new_collection", "from_callback", "from_generator"}


def rows() -> Stream:
    return Scope("rows").new_input(ROW)[1]


def updates() -> Stream:
    """Updates by key."""
    return last_by(rows(), "key", order="value")


def told(way: str) -> Stream:
    """What tells how a collection changes."""
    kept = operators.collection(rows())
    stream: Stream = kept.changes() if way == "changes" else kept.to_upserts("key")
    return operators.with_columns(stream, value=col("time"), other=0)


def test_every_operator_is_classified() -> None:
    tables = (MAKES, SAYS_ONCE, HANDS_ON, KEEPS_THE_NEWEST, REFUSES, TAKES_WHAT_COMES)
    classified = {name.split()[0] for table in tables for name in table} | SOURCES
    assert classified == exported()


@pytest.mark.parametrize("name", MAKES)
def test_who_makes_updates(name: str) -> None:
    declare, by = MAKES[name]
    assert declare(rows()).updates == Updates(name.split()[0], by)


@pytest.mark.parametrize("name", SAYS_ONCE)
def test_who_says_each_row_once(name: str) -> None:
    assert SAYS_ONCE[name](rows()).updates is None


@pytest.mark.filterwarnings("ignore::tokenring.operators.RowwiseWarning")
@pytest.mark.parametrize("name", HANDS_ON)
def test_who_hands_updates_on(name: str) -> None:
    declare, by = HANDS_ON[name]
    assert declare(updates()).updates == Updates("last_by", by, REORDERS.get(name))
    assert declare(rows()).updates is None


@pytest.mark.parametrize("name", KEEPS_THE_NEWEST)
def test_who_keeps_the_newest(name: str) -> None:
    declare = KEEPS_THE_NEWEST[name]
    declare(updates(), "key")
    declare(rows(), "other")
    with raises(GraphError, "newest row by other", "'last_by'", "same key", "take several", "as_rows(stream)"):
        declare(updates(), "other")
    with raises(GraphError, "newest row by key", "'last_by'", "through 'filter'", "as_rows(stream)"):
        declare(filter(updates(), "value", ">", 3), "key")


@pytest.mark.parametrize("reorders", REORDERS)
@pytest.mark.parametrize("name", KEEPS_THE_NEWEST)
def test_who_needs_the_order_in_which_they_were_sent(name: str, reorders: str) -> None:
    before = updates()
    reordered = HANDS_ON[reorders][0](before)
    with raises(GraphError, "last row by key", "'last_by'", f"{REORDERS[reorders]!r} may send", "to_upserts('key')"):
        KEEPS_THE_NEWEST[name](select(reordered, "key", other=0, value=0), "key")


@pytest.mark.parametrize("emit", ["batch", "each"])
def test_a_table_goes_by_times_and_a_count_does_not(emit: str) -> None:
    """Of times 10 and 5, the second message's count is of both, at the earlier time: it would be the older version."""

    def declare(asked: Stream, counted: Stream) -> Stream:
        with raises(GraphError, "latest time by key", "'count'", "earlier", "to_upserts('key')", "version_time='time'"):
            operators.enrich(asked, count(counted, "key", emit=emit), on="key", columns="left.key count")
        holds = count(counted, "key", changes=True).to_upserts("key")
        return operators.temporal_join(
            asked, holds, on="key", time="value", version_time="time", columns="left.key count"
        )

    with bench([ROW, ROW], declare, workers=2) as run:
        for worker, time in enumerate((10, 5)):
            run.send({name: [1] for name in ROW.names}, worker=worker, time=time, to=1)
            run.settle()
        for time in (4, 5, 9, 10, 11):
            run.send({"key": [1], "other": [0], "value": [time]}, time=time)
        run.close()
        assert run.sent() == [(5, 1, 1), (9, 1, 1), (10, 1, 2), (11, 1, 2)]


@pytest.mark.parametrize("name", REFUSES)
def test_who_refuses_updates(name: str) -> None:
    with raises(GraphError, "'last_by'", "updates", "as_rows(stream)"):
        REFUSES[name](updates())
    REFUSES[name](as_rows(updates()))


@pytest.mark.parametrize("name", [name for name in REFUSES if name not in ("collection", "enrich by a stream")])
def test_who_refuses_upserts(name: str) -> None:
    with raises(GraphError, "'to_upserts'", "with the collection itself", "as_rows(stream)"):
        REFUSES[name](select(told("to_upserts"), *ROW.names))
    REFUSES[name](told("changes"))


@pytest.mark.parametrize("name", KEEPS_THE_NEWEST)
def test_the_newest_change_of_a_collection_may_take_a_row_away(name: str) -> None:
    declare, chosen = KEEPS_THE_NEWEST[name], filter(told("changes"), "value", ">", 3)
    joined = operators.join(as_rows(chosen), chosen, on="key", columns={"key": "left.key", "value": "right.value"})
    scanned = operators.scan(chosen, "key", lambda _, row: (None, {"value": 1}), Schema("value"))
    for changes in (told("changes"), chosen, union(chosen, chosen), joined, scanned):
        with raises(GraphError, "newest row by key", "'changes'", "takes a row away", ".to_upserts('key')"):
            declare(changes, "key")
    declare(as_rows(chosen), "key")
    declare(told("to_upserts"), "key")
    with raises(GraphError, "newest row by other", "'to_upserts'", "the same key"):
        declare(told("to_upserts"), "other")
    with raises(GraphError, "last row by key", "'exchange' may send", "Keep the newest before; or say as_rows(stream)"):
        declare(operators.exchange(told("to_upserts"), "value"), "key")


def test_a_union_with_changes_of_a_collection_is_of_updates_still() -> None:
    stream = updates()
    changes = select(operators.collection(as_rows(stream)).changes(), *ROW.names)
    for both in (union(stream, changes), union(changes, stream)):
        with raises(GraphError, "operator 'count'", "'last_by'"):
            count(both, "key")


def test_a_collection_of_what_tells_of_one() -> None:
    for way, options in (("changes", {"times": "times"}), ("to_upserts", {"key": "key", "deleted": "deleted"})):
        operators.collection(told(way), **options)
        operators.collection(told(way), "time", **options)
    with raises(GraphError, "'to_upserts'", "the same key"):
        operators.collection(told("to_upserts"), "time", key="other")


@pytest.mark.parametrize("name", TAKES_WHAT_COMES)
def test_who_takes_what_comes(name: str, tmp_path: Path) -> None:
    TAKES_WHAT_COMES[name](updates(), tmp_path)


def test_a_loop_hands_them_in_and_out() -> None:
    stream = updates()
    with stream.scope.loop() as loop:
        entered = loop.enter(stream)
    assert entered.updates == stream.updates
    assert loop.leave(entered).updates == stream.updates


def test_the_last_of_them_is_not_known_where_they_come_from_several_workers() -> None:
    """By bins a key's updates do; and the last to come may have an earlier time."""
    with simulated(2, worker_class=fluent.Worker) as group:
        (worker, _) = group.workers
        with group.building(worker), worker.dataflow("it", bins=2) as scope:
            _, stream = scope.new_input(ROW)
            with raises(GraphError, "operator 'latest'", "latest time", "'count'", "to_upserts('key')", "as_rows"):
                latest(count(stream, "key"), "key")


def test_counts_of_counts() -> None:
    """1, 1, 2: key 1 came twice, key 2 once. What was replaced would be counted as well."""
    rows = {name: [1, 1, 2] for name in ROW.names}
    made: list[Any] = []

    def declare(stream: Stream) -> Stream:
        counts = count(stream, "key")
        with raises(GraphError, "operator 'aggregate'", "'count'", "same key", "as_rows(stream)"):
            aggregate(counts, "count", times=Count())
        made.append(latest(counts, "key"))
        return aggregate(count(stream, "key", emit="final"), "count", times=Count(), emit="final")

    with bench([ROW], declare) as run:
        run.send({name: rows[name][:1] for name in ROW.names})
        run.send({name: rows[name][1:] for name in ROW.names})
        run.close()
        assert [row[1:] for row in run.sent()] == [(1, 1), (2, 1)]
        kept = made[0].columns()
        assert np.stack([kept["key"], kept["count"]]).T.tolist() == [[1, 2], [2, 1]]
    with bench([ROW], lambda stream: aggregate(as_rows(count(stream, "key")), "key", n=Count())) as run:
        run.send({name: rows[name][:1] for name in ROW.names})
        run.send({name: rows[name][1:] for name in ROW.names})
        run.close()
        assert (0, 1, 2) in run.sent()
    with bench([ROW], lambda stream: distinct(select(count(stream, "key"), "key"))) as run:
        run.send(rows)
        run.send(rows)
        run.close()
        assert run.sent() == [(0, 1), (0, 2)]
