"""Spark job: answers queries in SQL over the staged Parquet files, each as a folder of Parquet files."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tokenring.nexmark.spark.jobs import ProgressReporter, batch_views, prepare, spark_job, what_went_wrong
from tokenring.nexmark.sql import sql


def main(session: SparkSession, arguments: dict[str, Any], progress: ProgressReporter) -> dict[str, str | None]:
    """Writes each answer to the folder of its query's name in `arguments["out"]`; returns what went wrong, or None."""
    prepare(session, arguments["rows"])
    batch_views(session, arguments["parquet"], arguments["events"])
    progress.start(len(arguments["queries"]))
    told: dict[str, str | None] = {}
    for query in arguments["queries"]:
        progress.step(1)
        try:
            session.sql(sql(query)).write.parquet(f"{arguments['out']}/{query}")
            told[query] = None
        except PySparkException as error:
            told[query] = what_went_wrong(error)
    return told


if __name__ == "__main__":
    spark_job(main)
