"""What tests of tokenring.spark.stage do in Spark's own process; each answers what happened."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from tokenring.engine import UsageError
from tokenring.nexmark.spark.jobs import ProgressReporter
from tokenring.spark import stage

SCHEMA = "id long, at timestamp, small int, city string, price double, paid boolean, blob binary, `a b` string"
ROWS = 5_000


def main(session: SparkSession, arguments: dict[str, Any], progress: ProgressReporter) -> Any:
    """Stages the DataFrame that `make` names; returns the manifest, or what was wrong."""
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        return stage(_MAKERS[arguments["make"]](session), arguments["folder"], **arguments["more"])
    except UsageError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.conf.set("spark.sql.adaptive.enabled", "false")


def _computed(session: SparkSession) -> Any:
    """Rows in no order, on several partitions, by expressions that the test has its own words for."""
    return session.range(0, ROWS, 1, 5).selectExpr(
        "id",
        "timestamp_millis((id * 7919) % 5003) as at",
        "cast(id % 3 as int) as small",
        "case when id % 10 > 0 then concat('city ', id % 4) end as city",
        "case when id % 7 > 0 then id / 4 end as price",
        "case when id % 5 > 0 then id % 2 = 0 end as paid",
        "case when id % 6 > 0 then unhex('ff00') end as blob",
        "'Zürich' as `a b`",
    )


_MAKERS = {
    "computed": _computed,
    "none": lambda session: session.createDataFrame([], SCHEMA),
    "null times": lambda session: session.sql("select 1 as id, cast(null as timestamp) as at"),
    "early times": lambda session: session.sql("select 1 as id, timestamp '1969-01-01 00:00:00' as at"),
    "equal ids": lambda session: session.range(0, 10).selectExpr("id div 9 as id", "id as at"),
    "equal ids at the end": lambda session: session.range(0, 30_000, 1, 3).selectExpr(
        "if(id = 29999, 29998, id) as id", "id as at"
    ),
    "odd names": lambda session: session.range(3).selectExpr(
        "2 - id as `t.x`", "id as `a.b`", "id + 1 as `x``y`", "id + 2 as V", "id + 3 as v", "id + 4 as ` `"
    ),
    "one name": lambda session: session.sql("select 1 as at, 2 as at"),
    "months": lambda session: session.sql("select 1 as at, interval '1' month as pause"),
    "months and days": lambda session: session.sql("select 1 as at, make_interval(1, 2, 3) as pause"),
    "a stream": lambda session: session.readStream.format("rate").load().selectExpr("value as at"),
    "days": lambda session: session.sql("select date '2024-01-01' as at"),
    "decimals": lambda session: session.sql("select 1 as at, cast(1.5 as decimal(30, 2)) as price"),
}
