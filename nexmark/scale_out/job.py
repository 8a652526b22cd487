"""Spark job: runs queries over a staged folder of any file system that Hadoop reads, as a batch or as a stream."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psutil
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import col, count, lit, row_number
from pyspark.sql.window import Window

from tokenring.nexmark.errors import StagedError
from tokenring.nexmark.events import STREAMS
from tokenring.nexmark.manifest import NAME, parse_manifest
from tokenring.nexmark.spark.jobs import (
    ProgressReporter,
    batch_views,
    prepare,
    spark_job,
    streaming_views,
    what_went_wrong,
)
from tokenring.nexmark.sql import STREAMED, sql
from tokenring.tools.errors import InputError

_BATCH = "spark_batch"
_KEPT_REPORTS = 100_000


def main(session: SparkSession, arguments: dict[str, Any], progress: ProgressReporter) -> dict[str, Any]:
    """Runs `arguments["queries"]` over the first `events` events (None: all) of the folder `input`.

    Returns {"runs": [...], "workers": ...}, or {"input_error": text}. A run has seconds, events, result_rows and more,
    or an `error`. Those rows that are to be kept are in `keep`, a folder of Parquet for each query; others go nowhere.
    """
    root = arguments["input"].rstrip("/")
    try:
        manifest = _manifest(session, f"{root}/{NAME}")
    except InputError as error:
        return {"input_error": str(error)}
    streams, events = manifest["streams"], manifest["events"]
    events = events if arguments["events"] is None else min(events, arguments["events"])
    parquet = {name: f"{root}/{streams[name]['parquet']}" for name in STREAMS}
    prepare(session, streams["bid"]["rows"])
    (streaming_views if arguments["streaming"] else batch_views)(session, parquet, events)
    progress.start(len(arguments["queries"]))
    runs = []
    for query in arguments["queries"]:
        progress.step(1)
        folder = f"{arguments['keep']}/{query}" if query in arguments["kept"] else None
        state = f"{arguments['scratch']}/{query}"
        before_s = _cpu_seconds(session)
        try:
            run = _stream(session, query, folder, state) if arguments["streaming"] else _batch(session, query, folder)
            run |= {"events": events, "planned_events": manifest["events"], "peak_rss_mb": _peak_mb(session)}
            runs.append(run | {"cpu_seconds": _cpu_seconds(session) - before_s})
        except PySparkException as error:
            runs.append({"error": what_went_wrong(error)})
    return {"runs": runs, "workers": session.sparkContext.defaultParallelism}


def _manifest(session: SparkSession, path: str) -> dict[str, Any]:
    """The manifest, by whatever file system the path names."""
    try:
        row = session.read.text(path, wholetext=True).head()
    except PySparkException as error:
        raise StagedError(
            f"{path} cannot be read by Spark ({what_went_wrong(error)}); name a folder made by `tokenring stage`"
        ) from None
    return parse_manifest("" if row is None else row[0], path)


def _batch(session: SparkSession, query: str, folder: str | None) -> dict[str, Any]:
    """Run it once over everything."""
    seen = Observation("result")
    started_s = time.perf_counter()
    rows = session.sql(sql(query)).observe(seen, count(lit(1)).alias("rows"))
    if folder is None:
        rows.write.format("noop").mode("overwrite").save()
    else:
        rows.write.parquet(folder)
    return {"seconds": time.perf_counter() - started_s, "result_rows": seen.get["rows"], "micro_batches": None}


def _stream(session: SparkSession, query: str, folder: str | None, state: str) -> dict[str, Any]:
    """Run it over the files one after the other, until all that are there have been taken."""
    key = STREAMED[query]
    session.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(_KEPT_REPORTS))
    session.conf.set(  # the state of a join of millions of rows is no matter for the heap
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    changes = f"{state}/changes"
    started_s = time.perf_counter()
    writer = session.sql(sql(query)).writeStream.outputMode("update" if key else "append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{state}/checkpoint")
    if folder is None:
        writer = writer.format("noop")
    elif key:
        writer = writer.foreachBatch(
            lambda rows, batch: rows.withColumn(_BATCH, lit(batch)).write.mode("append").parquet(changes)
        )
    else:
        writer = writer.format("parquet").option("path", folder)
    running = writer.start()
    running.awaitTermination()
    seconds = time.perf_counter() - started_s
    if folder is not None and key:
        _last(session.read.parquet(changes), key).write.parquet(folder)
    batches_ms = sorted(report["durationMs"].get("triggerExecution", 0) for report in running.recentProgress)
    told = {"count": len(batches_ms), "p50_ms": batches_ms[len(batches_ms) // 2], "max_ms": batches_ms[-1]}
    return {"seconds": seconds, "result_rows": None, "micro_batches": told}


def _last(changes: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """The row of each key that the last batch has."""
    by_age = Window.partitionBy(*key).orderBy(col(_BATCH).desc())
    return changes.withColumn("age", row_number().over(by_age)).where("age = 1").drop("age", _BATCH)


def _driver(session: SparkSession) -> psutil.Process:
    """The JVM: with a local master it does all the work, with others it coordinates."""
    return psutil.Process(session.sparkContext._gateway.proc.pid)


def _cpu_seconds(session: SparkSession) -> float:
    times = _driver(session).cpu_times()
    return float(times.user + times.system)


def _peak_mb(session: SparkSession) -> float:
    status = Path(f"/proc/{_driver(session).pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    spark_job(main)
