"""Operators, one a file, written against the engine's public face: general, columnar, with kernels where a row costs.

aggregate         counts, sums and so on by key: running, by tumbling, sliding or session windows
best_offers       the highest offer within each interval, once it has closed
running_average   the average so far of each key's values
average_of_last   the average of each key's last so many values
tumbling_average  the paper's example of an operator
word_count        the rolling count of each word
no_op             passes rows on, for chains of idle operators
arrange           an index of what updates add up to; net updates once a time is finished
filter            rows for which a condition is true; a thousand of them are one call
with_columns, select, rename, drop_columns  other columns, by expressions: col, lit, when, least, greatest
with_arrival      the instant at which rows came
union             several streams as one
branch, partition  one stream as several
exchange, broadcast  rows to the worker of their key, or to all
inspect           a look at what passes
delay             rows at later times
iterate           a loop in one call
limited           a part of the dataflow that never has much under way
count             how many rows of each key there are
as_rows           updates (such as counts so far) as rows of their own
distinct          the first row of each key
last_by           the last row of each key
collection, new_collection  rows that come and go, of which joins, totals and loops are kept up to date
reduce            a function of all rows of each key, by window or at the end
scan              a function of each row and its key's state
top               the best rows of each key, running or by window
join              pairs of rows of two streams with equal keys, at any times or within windows
interval_join     pairs of rows with equal keys whose times lie within bounds of each other
enrich            each row with what a table says about its key: given, or changing as rows come
temporal_join     each row with the version of its key that was valid at the row's time
look_up           each row with the value that a table has for it at the same time
map_batches, filter_batches  a Python function of a batch
map_rows, flat_map_rows, filter_rows  one of a row, for when nothing else is left
read_columns, read_arrow, read_parquet, read_json_lines, read_csv  sources: streams of files and tables
read_staged       a source: a table that `tokenring stage` has staged, mapped, in order of time
engine_events     a source: what the engine does, a row each
from_generator, from_callback  sources: streams of Python code, and live ones; Throttle bounds how far all of them run
collect, latest   sinks: all rows, or the latest of each key; gather brings them to the launcher as one table
to_parquet, to_arrow_files, to_csv, to_json_lines  sinks: folders of files that appear whole; with a Roll, file by file
to_database       a sink: rows of a table in a database, or one a key; under recovery each exactly once
to_delta          a sink: rows of a Delta table, in whole commits; under recovery each exactly once
for_each          a sink: a function of what arrives
Notificator, Stash  for operators of one's own: tokens, or rows, kept until their time is finished
Keys, grown       for keyed operators of one's own: a slot for each key, and arrays by slot that grow
state_moves, offer  for operators of one's own whose state moves between workers: its Table, and its Moves; Rebalance
Staying           an exchange to workers that stay the same where other state moves
capture, replay   a stream's messages and frontiers to files, and again from there

collections       a room: the operators of collections
graphs            loops over edges: searches, components, ranks
mechanisms        ways to coordinate; a dataflow is told one before all else
"""

if __name__ != "tokenring.operators":  # a second copy of all its modules, where the checkout stands on the path
    raise ImportError(f"{__name__} is a part of tokenring: import tokenring.operators", name=__name__)


from tokenring.faces import later

with later(__name__):
    from tokenring.operators.aggregates import aggregate, count, distinct, reduce, scan
    from tokenring.operators.capture import capture, replay
    from tokenring.operators.collections import (
        Arranged,
        Collection,
        CollectionInput,
        Subscription,
        UpsertInput,
        Variable,
        View,
        collection,
        new_collection,
    )
    from tokenring.operators.durations import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND
    from tokenring.operators.expressions import Expression, col, greatest, least, lit, when
    from tokenring.operators.flow import limited
    from tokenring.operators.folds import Count, CountDistinct, First, Last, Max, Mean, Min, Sum
    from tokenring.operators.folds.own import ApproxQuantile, ArgMax, ArgMin, OwnAggregate, StdDev, Variance
    from tokenring.operators.joins import enrich, interval_join, join, look_up, temporal_join
    from tokenring.operators.migrate import (
        HeldBackWarning,
        Leaving,
        Moves,
        Rebalance,
        Staying,
        Table,
        offer,
        state_moves,
    )
    from tokenring.operators.paper import (
        Arrangement,
        arrange,
        average_of_last,
        best_offers,
        no_op,
        running_average,
        tumbling_average,
        word_count,
    )
    from tokenring.operators.ranking import last_by, top
    from tokenring.operators.rows import (
        RowwiseWarning,
        branch,
        broadcast,
        drop_columns,
        exchange,
        filter,
        filter_batches,
        filter_rows,
        flat_map_rows,
        inspect,
        iterate,
        map_batches,
        map_rows,
        partition,
        rename,
        select,
        union,
        with_arrival,
        with_columns,
    )
    from tokenring.operators.sinks import (
        Collected,
        Latest,
        Roll,
        collect,
        for_each,
        gather,
        latest,
        to_arrow_files,
        to_csv,
        to_database,
        to_delta,
        to_json_lines,
        to_parquet,
    )
    from tokenring.operators.sources import (
        ARRIVAL,
        END_OF_STREAM,
        Throttle,
        ZoneWarning,
        engine_events,
        from_callback,
        from_generator,
        read_arrow,
        read_columns,
        read_csv,
        read_json_lines,
        read_parquet,
    )
    from tokenring.operators.staging import read_staged
    from tokenring.operators.state import Keys, as_rows, grown
    from tokenring.operators.time import Notificator, Session, Sliding, Stash, Tumbling, delay

__all__ = [
    "ARRIVAL",
    "as_rows",
    "branch",
    "broadcast",
    "delay",
    "exchange",
    "filter_rows",
    "flat_map_rows",
    "inspect",
    "iterate",
    "map_rows",
    "partition",
    "Leaving",
    "Moves",
    "Notificator",
    "Rebalance",
    "Staying",
    "Table",
    "offer",
    "state_moves",
    "Roll",
    "HeldBackWarning",
    "RowwiseWarning",
    "ZoneWarning",
    "DAY",
    "END_OF_STREAM",
    "HOUR",
    "MICROSECOND",
    "MILLISECOND",
    "MINUTE",
    "SECOND",
    "Arranged",
    "Arrangement",
    "Collection",
    "CollectionInput",
    "Collected",
    "ApproxQuantile",
    "ArgMax",
    "ArgMin",
    "Count",
    "CountDistinct",
    "Expression",
    "First",
    "Keys",
    "Last",
    "Latest",
    "Max",
    "Mean",
    "Min",
    "OwnAggregate",
    "Session",
    "Sliding",
    "StdDev",
    "Stash",
    "Subscription",
    "Sum",
    "Throttle",
    "Tumbling",
    "UpsertInput",
    "Variable",
    "Variance",
    "View",
    "aggregate",
    "arrange",
    "average_of_last",
    "best_offers",
    "capture",
    "col",
    "collect",
    "collection",
    "union",
    "count",
    "distinct",
    "drop_columns",
    "engine_events",
    "enrich",
    "filter_batches",
    "for_each",
    "from_callback",
    "from_generator",
    "gather",
    "greatest",
    "grown",
    "interval_join",
    "join",
    "last_by",
    "limited",
    "latest",
    "least",
    "lit",
    "look_up",
    "map_batches",
    "new_collection",
    "no_op",
    "read_arrow",
    "read_columns",
    "read_csv",
    "read_json_lines",
    "read_parquet",
    "read_staged",
    "reduce",
    "rename",
    "replay",
    "running_average",
    "scan",
    "select",
    "temporal_join",
    "to_arrow_files",
    "to_csv",
    "to_database",
    "to_delta",
    "to_json_lines",
    "to_parquet",
    "top",
    "tumbling_average",
    "when",
    "filter",
    "with_arrival",
    "with_columns",
    "word_count",
]
