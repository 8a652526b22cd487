"""Eighty slips of a newcomer's hand, each as the pipeline that makes it and the facts that cure it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import tokenring as tr
from tests.errors import Fact

BID = tr.Schema("auction price", channel="string?", at="timestamp", number="int64", ok="bool?", rate="float64")
PERSON = tr.Schema("id", name="string", joined="timestamp")
HOURS = tr.Tumbling("at", "1h")

Pipeline = Callable[[Any, Any, Any], Any]
"""Of the scope, the bids and the persons."""

TYPOS: dict[str, tuple[Pipeline, Fact]] = {
    # A column's name
    "a column of a condition": (lambda s, b, p: b.filter(tr.col("prise") > 1), "did you mean 'price'"),
    "a column of an expression": (lambda s, b, p: b.with_columns(euro=tr.col("Price") * 2), "did you mean 'price'"),
    "a selected column": (lambda s, b, p: b.select("auction", "prices"), "did you mean 'price'"),
    "a renamed column": (lambda s, b, p: b.rename(pice="euro"), "did you mean 'price'"),
    "a dropped column": (lambda s, b, p: b.drop_columns("chanel"), "did you mean 'channel'"),
    "a key": (lambda s, b, p: b.aggregate("auctoin", n=tr.Count()), "did you mean 'auction'"),
    "one of two keys": (lambda s, b, p: b.aggregate("auction chanel", n=tr.Count()), "did you mean 'channel'"),
    "an aggregate's column": (lambda s, b, p: b.aggregate("auction", top=tr.Max("pirce")), "did you mean 'price'"),
    "a counted column": (lambda s, b, p: b.aggregate("auction", n=tr.Count("prce")), "did you mean 'price'"),
    "a window's column": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("att", "1h"), n=tr.Count()),
        "did you mean 'at'",
    ),
    "an order": (lambda s, b, p: b.top("auction", order="pricee", k=2), "did you mean 'price'"),
    "a tie": (lambda s, b, p: b.top("auction", order="price", k=2, ties="att"), "did you mean 'at'"),
    "the last's order": (lambda s, b, p: b.last_by("auction", order="att"), "did you mean 'at'"),
    "a distinct column": (lambda s, b, p: b.distinct("acution"), "did you mean 'auction'"),
    "an exchanged column": (lambda s, b, p: b.exchange("autcion"), "did you mean 'auction'"),
    "a counted key": (lambda s, b, p: b.count("autcion"), "did you mean 'auction'"),
    "the latest's key": (lambda s, b, p: b.latest("auctio"), "did you mean 'auction'"),
    "a key of both": (
        lambda s, b, p: b.join(p, on="idd"),
        ("column 'idd' of the left side", "columns are auction, price"),
    ),
    "the right side's key": (lambda s, b, p: b.join(p, on={"auction": "idd"}), "did you mean 'id'"),
    "a result of a join": (lambda s, b, p: b.join(p, on={"auction": "id"}, columns="price nam"), "did you mean 'name'"),
    "a table's key": (lambda s, b, p: b.enrich({"id": [1], "x": [2]}, on={"auction": "idd"}), "did you mean 'id'"),
    "a version's time": (
        lambda s, b, p: b.temporal_join(p, on={"auction": "id"}, time="at", version_time="joind"),
        "did you mean 'joined'",
    ),
    "an interval's time": (
        lambda s, b, p: b.interval_join(p, on={"auction": "id"}, left_time="att", right_time="joined", upper="1h"),
        "did you mean 'at'",
    ),
    # A method's, a function's or an option's name
    "agregate": (lambda s, b, p: b.agregate("auction", n=tr.Count()), "did you mean 'aggregate'"),
    "group_by": (lambda s, b, p: b.group_by("auction"), "'aggregate'"),
    "where": (lambda s, b, p: b.where(tr.col("price") > 1), "'filter'"),
    "filer": (lambda s, b, p: b.filer(tr.col("price") > 1), "did you mean 'filter'"),
    "map": (lambda s, b, p: b.map(lambda row: row), "'map_rows'"),
    "key_by": (lambda s, b, p: b.key_by("auction"), "'exchange'"),
    "concat": (lambda s, b, p: b.concat(b), "'union'"),
    "write_parquet": (lambda s, b, p: b.write_parquet("x"), "'to_parquet'"),
    "to_parqet": (lambda s, b, p: b.to_parqet("x"), "did you mean 'to_parquet'"),
    "with_column": (lambda s, b, p: b.with_column(x=tr.lit(1)), "did you mean 'with_columns'"),
    "colect": (lambda s, b, p: b.colect(), "did you mean 'collect'"),
    "sort": (lambda s, b, p: b.sort("price"), "'top'"),
    "tr.Tumblng": (lambda s, b, p: tr.Tumblng("at", "1h"), "did you mean 'Tumbling'"),  # type: ignore[attr-defined]
    "tr.Summ": (lambda s, b, p: tr.Summ("price"), "did you mean 'Sum'"),  # type: ignore[attr-defined]
    "tr.read_cvs": (lambda s, b, p: tr.read_cvs(s, "x"), "did you mean 'read_csv'"),  # type: ignore[attr-defined]
    "scope.read_cvs": (lambda s, b, p: s.read_cvs("x", BID), "did you mean 'read_csv'"),
    "scope.read_json": (lambda s, b, p: s.read_json("x", BID), "did you mean 'read_json_lines'"),
    "an expression's method": (lambda s, b, p: tr.col("channel").startswith("A"), "did you mean 'starts_with'"),
    "an expression's function": (lambda s, b, p: b.filter(tr.col("channel").isnull()), ("'isnull'", "is_null")),
    "windw=": (lambda s, b, p: b.aggregate("auction", windw=HOURS, n=tr.Count()), "did you mean 'window'"),
    "of join": (lambda s, b, p: b.join(p, on={"auction": "id"}, windows=HOURS), "'windows'"),
    "of read_csv": (lambda s, b, p: s.read_csv("x.csv", BID, delimeter=";"), "'delimeter'"),
    "of run": (lambda s, b, p: tr.run(lambda scope: None, worker=2), "'worker'"),  # type: ignore[call-arg]
    # A kind
    "an unknown kind": (
        lambda s, b, p: tr.Schema(price="integer"),
        ("column 'price'", "'integer'", "int64, uint64, float64"),
    ),
    "a kind of pandas": (lambda s, b, p: tr.Schema(price="float"), ("column 'price'", "'float'", "'float64' holds")),
    "a kind of SQL": (lambda s, b, p: tr.Schema(name="varchar"), ("column 'name'", "'varchar'", "string")),
    "a sum of text": (
        lambda s, b, p: b.aggregate("auction", total=tr.Sum("channel")),
        ("Sum", "column 'channel'", "string?"),
    ),
    "a mean of text": (
        lambda s, b, p: b.aggregate("auction", total=tr.Mean("channel")),
        ("Mean", "column 'channel'", "string?"),
    ),
    "text times a number": (
        lambda s, b, p: b.with_columns(x=tr.col("channel") * 2),
        ("channel is string", "2 is int64", "cast"),
    ),
    "text beside a number": (
        lambda s, b, p: b.filter(tr.col("channel") == 5),
        ("channel is string", "5 is int64", "cast"),
    ),
    "a fraction of a whole number": (
        lambda s, b, p: b.with_columns(x=tr.col("price") * 0.5),
        ("price is int64", '.cast("float64")'),
    ),
    "no parentheses": (lambda s, b, p: b.filter(tr.col("price") > 1 & tr.col("auction")), ("&", "parentheses")),
    "and": (
        lambda s, b, p: b.filter((tr.col("price") > 1) and (tr.col("auction") > 1)),
        ("(price > 1)", "&", "parentheses"),
    ),
    "or": (lambda s, b, p: b.filter(tr.col("price") in (1, 2)), ".is_in("),
    "a condition that is none": (lambda s, b, p: b.filter(tr.col("price")), ("price is int64", "bool", "compare")),
    "a condition that is a text": (lambda s, b, p: b.filter("price > 1"), ('col("price")', "not 'price > 1'")),
    "an hour of a number": (
        lambda s, b, p: b.with_columns(x=tr.col("price").hour()),
        ("hour", "timestamp", "not int64"),
    ),
    "lower of a number": (lambda s, b, p: b.with_columns(x=tr.col("price").lower()), ("lower", "string", "not int64")),
    "a cast to nothing": (
        lambda s, b, p: b.with_columns(x=tr.col("price").cast("int")),
        ("price.cast('int')", "to float64, uint64"),
    ),
    "a window over text": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("channel", "1h"), n=tr.Count()),
        ("'channel'", "string?", "int64 or timestamp"),
    ),
    "streams that differ": (lambda s, b, p: b.union(p), ("Schema(auction=int64", "Schema(id=int64")),
    "keys that differ": (
        lambda s, b, p: b.join(p, on={"auction": "name"}),
        ("'auction' of the left side is int64", "'name' of the right side is string"),
    ),
    "a column given twice": (lambda s, b, p: b.rename(price="auction"), ("the same", "auction, auction")),
    # A duration
    "a number beside a timestamp": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("at", 3600), n=tr.Count()),
        ("3600 of a timestamp", "'3600s'"),
    ),
    "an unknown unit": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("at", "1 hour"), n=tr.Count()),
        ("'1h'", "not '1 hour'"),
    ),
    "a fraction of an hour": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("at", "0.5h"), n=tr.Count()),
        ("'1h'", "not '0.5h'"),
    ),
    "a duration beside a number": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("number", timedelta(seconds=1)), n=tr.Count()),
        ("int64", "give a number"),
    ),
    "no width": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("at", "0s"), n=tr.Count()),
        ("width", "at least 1", "not '0s'"),
    ),
    "gaps": (
        lambda s, b, p: b.aggregate(window=tr.Sliding("at", "1h", "2h"), n=tr.Count()),
        ("every=7200000000000", "3600000000000"),
    ),
    "a window by its width alone": (
        lambda s, b, p: b.aggregate(window="1h", n=tr.Count()),
        ("Tumbling('time', '1h')", "not '1h'"),
    ),
    "an unknown zone": (
        lambda s, b, p: b.aggregate(window=tr.Tumbling("at", "1d", zone="Berlin"), n=tr.Count()),
        ("'Berlin'", "'Europe/Berlin'"),
    ),
    # A value
    "how=": (lambda s, b, p: b.join(p, on={"auction": "id"}, how="lefft"), ("not 'lefft'", "did you mean 'left'")),
    "emit=": (
        lambda s, b, p: b.aggregate("auction", n=tr.Count(), emit="last"),
        ("'each', 'batch' or 'final'", "not 'last'"),
    ),
    "an aggregate without parentheses": (lambda s, b, p: b.aggregate("auction", n=tr.Count), "n=Count()"),
    "an aggregate that is a text": (lambda s, b, p: b.aggregate("auction", n="count"), ("n='count'", "n=Count()")),
    "no aggregate": (lambda s, b, p: b.aggregate("auction"), "n=Count()"),
    "k of none": (lambda s, b, p: b.top("auction", order="price", k=0), ("k", "at least 1", "not 0")),
    "a stream that is none": (lambda s, b, p: b.union("persons"), ("'persons'", "stream")),
    "a schema that is none": (lambda s, b, p: s.read_csv("x.csv", {"price": "int64"}), ("Schema('id'", "not {'price'")),
    "a table that is none": (lambda s, b, p: s.read_arrow([1, 2]), ("path", "not list")),
    "a file that is missing": (lambda s, b, p: s.read_parquet("/nowhere/sold.parquet"), "/nowhere/sold.parquet"),
    "a staged folder that is missing": (lambda s, b, p: s.read_staged("/nowhere"), ("/nowhere", "tokenring stage")),
    "a pattern without a file": (lambda s, b, p: s.read_csv("/nowhere/*.csv", BID), "/nowhere/*.csv"),
    "a mechanism": (
        lambda s, b, p: tr.run(lambda scope: None, workers=1, mechanism="watermark"),
        ("'watermark'", "watermarks-X"),
    ),
    "no workers": (lambda s, b, p: tr.run(lambda scope: None, workers=-1), ("workers", "512", "not -1")),
    "no sink": (
        lambda s, b, p: tr.run(lambda scope: scope.new_input(BID)[1], workers=1),
        ("'input' output 0", ".collect()"),
    ),
    "an order of counts": (
        lambda s, b, p: b.count("auction").aggregate(n=tr.Sum("count")),
        ("'count'", "emit='final'", "as_rows(stream)"),
    ),
}
