"""Spark job: stages a table out of files of any file system that Hadoop reads."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tokenring.engine import UsageError
from tokenring.nexmark.scale_out.csv_by_spark import called, read_csv_by_spark
from tokenring.nexmark.spark.jobs import ProgressReporter, spark_job, what_went_wrong
from tokenring.spark import stage
from tokenring.tools.errors import InputError


def main(session: SparkSession, arguments: dict[str, Any], progress: ProgressReporter) -> dict[str, Any]:
    """Reads `arguments["paths"]`, files of one `format`, and stages them as `table`; returns {"manifest": ...}, or
    {"input_error": text}."""
    from py4j.protocol import Py4JJavaError

    progress.start(1)
    progress.step(1)
    try:
        if arguments["format"] == "csv":
            rows = read_csv_by_spark(session, arguments["paths"], arguments["told"], arguments["delimiter"])
        else:
            options = {"mode": "FAILFAST"} if arguments["format"] == "json" else {}
            rows = session.read.format(arguments["format"]).load(arguments["paths"], **options)
        if arguments["columns"]:
            rows = rows.select([called(name) for name in arguments["columns"]])
    except InputError as error:
        return {"input_error": str(error)}
    except (PySparkException, Py4JJavaError) as error:
        return {"input_error": f"{arguments['told'][0]} cannot be read by Spark: {what_went_wrong(error)}"}
    try:
        manifest = stage(
            rows, arguments["folder"], time=arguments["time"], table=arguments["table"], unique=arguments["unique"],
            force=arguments["force"], source={"files": arguments["told"]},
        )  # fmt: skip
    except UsageError as error:
        return {"input_error": str(error)}
    return {"manifest": manifest}


if __name__ == "__main__":
    spark_job(main)
