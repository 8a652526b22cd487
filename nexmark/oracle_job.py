"""Spark job: Q4 and Q7 in SQL over the staged Parquet, sums in decimals so that none overflows unseen."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from nexmark.spark_session import ProgressReporter, spark_job

_WINDOW_NS = 10_000_000_000
_ROWS_PER_PARTITION = 2_000_000

_Q4 = """
    WITH winning AS (
        SELECT auction.id, auction.category, max(bid.price) AS price
        FROM auction JOIN bid ON bid.auction = auction.id
        WHERE bid.price >= auction.reserve
          AND bid.date_time >= auction.date_time AND bid.date_time < auction.expires
        GROUP BY auction.id, auction.category
    )
    SELECT category, sum(CAST(price AS DECIMAL(20, 0))) AS total, count(*) AS auctions
    FROM winning GROUP BY category ORDER BY category
"""
_Q7 = f"""
    SELECT (date_time DIV {_WINDOW_NS} + 1) * {_WINDOW_NS} AS window_end, max(price) AS price
    FROM bid GROUP BY 1 ORDER BY 1
"""


def main(session: SparkSession, arguments: dict[str, Any], _progress: ProgressReporter) -> list[dict[str, int]]:
    """Answers one query over the events with `event < arguments["events"]`."""
    session.conf.set("spark.sql.ansi.enabled", "true")  # an overflow is an error, not a null
    session.conf.set("spark.sql.adaptive.enabled", "true")
    session.conf.set("spark.sql.shuffle.partitions", str(4 + arguments["rows"] // _ROWS_PER_PARTITION))
    for stream, path in arguments["parquet"].items():
        session.read.parquet(path).where(f"event < {int(arguments['events'])}").createOrReplaceTempView(stream)
    if arguments["query"] == "q7":
        return [{"window_end": row.window_end, "price": row.price} for row in session.sql(_Q7).collect()]
    return [
        # Python's // floors exactly, whatever the size.
        {"category": row.category, "average": int(row.total) // row.auctions, "count": row.auctions}
        for row in session.sql(_Q4).collect()
    ]


if __name__ == "__main__":
    spark_job(main)
