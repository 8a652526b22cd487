"""Streams with the library's operators as methods: each is the function of that name, given the stream first."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tokenring import engine
from tokenring.engine.errors import NoSuchMethodError
from tokenring.faces import later

with later(__name__, keep=True):
    from tokenring.operators import (
        aggregates,
        collections,
        flow,
        graphs,
        joins,
        paper,
        ranking,
        rows,
        sinks,
        state,
        time,
    )
    from tokenring.operators.capture import capture as to_capture

_MEANT = {
    "agg": "aggregate",
    "antijoin": "join(..., how='anti')",
    "concat": "union",
    "concatenate": "union",
    "drop": "drop_columns",
    "drop_duplicates": "distinct",
    "enter": "loop.enter(stream)",
    "flat_map": "flat_map_rows",
    "explode": "flat_map_rows",
    "foreach": "for_each",
    "full_join": "join(..., how='full')",
    "group_by": "aggregate",
    "groupby": "aggregate",
    "head": "top(order=..., k=...)",
    "key_by": "exchange",
    "leave": "loop.leave(stream)",
    "left_join": "join(..., how='left')",
    "limit": "top(order=..., k=...)",
    "map": "map_rows",
    "merge": "union",
    "order_by": "top",
    "output": "for_each",
    "right_join": "join(..., how='right')",
    "semijoin": "join(..., how='semi')",
    "stateful_map": "scan",
    "to_sql": "to_database",
    "unique": "distinct",
    "where": "filter",
    "window": "aggregate",
    "sort": "top",
    "write_csv": "to_csv",
    "write_database": "to_database",
    "write_delta": "to_delta",
    "write_parquet": "to_parquet",
}
"""What other libraries call it."""


class Stream(engine.Stream):
    """What leaves an operator of a dataflow under construction, with each operator of the library as a method."""

    __slots__ = ()

    # Of each row by itself
    filter = rows.filter
    with_columns = rows.with_columns
    with_arrival = rows.with_arrival
    select = rows.select
    rename = rows.rename
    drop_columns = rows.drop_columns
    map_batches = rows.map_batches
    filter_batches = rows.filter_batches
    map_rows = rows.map_rows
    flat_map_rows = rows.flat_map_rows
    filter_rows = rows.filter_rows
    inspect = rows.inspect

    # Several streams, other workers, other times
    union = rows.union
    branch = rows.branch
    partition = rows.partition
    exchange = rows.exchange
    broadcast = rows.broadcast
    iterate = rows.iterate
    limited = flow.limited
    delay = time.delay

    # By key
    aggregate = aggregates.aggregate
    count = aggregates.count
    distinct = aggregates.distinct
    last_by = ranking.last_by
    reduce = aggregates.reduce
    scan = aggregates.scan
    top = ranking.top
    as_rows = state.as_rows

    # As rows that come and go
    collection = collections.collection

    # Joins
    join = joins.join
    interval_join = joins.interval_join
    temporal_join = joins.temporal_join
    enrich = joins.enrich
    look_up = joins.look_up

    # Sinks
    collect = sinks.collect
    latest = sinks.latest
    for_each = sinks.for_each
    to_parquet = sinks.to_parquet
    to_arrow_files = sinks.to_arrow_files
    to_csv = sinks.to_csv
    to_json_lines = sinks.to_json_lines
    to_database = sinks.to_database
    to_delta = sinks.to_delta
    capture = to_capture

    # Of edges
    connected_components = graphs.connected_components
    strongly_connected_components = graphs.strongly_connected_components
    least_values = graphs.least_values
    page_rank = graphs.page_rank

    # The paper's
    arrange = paper.arrange
    average_of_last = paper.average_of_last
    best_offers = paper.best_offers
    no_op = paper.no_op
    running_average = paper.running_average
    tumbling_average = paper.tumbling_average
    word_count = paper.word_count

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            methods = [each for each in dir(type(self)) if callable(getattr(type(self), each))]
            raise NoSuchMethodError(f"a Stream has no {name!r}{_cure(name, methods)}")


def _cure(name: str, there: Iterable[str]) -> str:
    if name in _MEANT:
        return f"; here it is {_MEANT[name]}" if "(" in _MEANT[name] else f"; here it is {_MEANT[name]!r}"
    from tokenring.operators.collections import Arranged, Collection

    for other, way in ((Collection, ".collection()"), (Arranged, ".collection().arrange(key)")):
        if not name.startswith("_") and hasattr(other, name):
            return f"; collections have it: say {way}.{name}(...)"
    near = engine.did_you_mean(name, [each for each in there if not each.startswith("_")])
    return near or "; for a function of a stream, your own or a library's, say stream.pipe(function, ...)"
