"""The Spark side's own process: a quiet session, its progress told to the parent, and an end when the parent ends.

A job module calls `spark_job(main)`. It gets its arguments as one JSON line on stdin and answers on stdout with JSON
lines: {"progress": done, "of": all} any number of times, then {"result": ...}. What Spark says goes to stderr.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import psutil
from pyspark.sql import SparkSession

Progress = Callable[[float], None]

_POLL_SECONDS = 0.25
_JVM_GRACE_SECONDS = 10
_PR_SET_PDEATHSIG = 1
_MIB = 1 << 20


def driver_memory_mib() -> int:
    """A quarter of the machine's memory, between 1 and 4 GiB: Spark spills to disk beyond it."""
    return int(min(4096, max(1024, psutil.virtual_memory().total // _MIB // 4)))


def open_session(master: str, scratch: str, app: str) -> SparkSession:
    """A session that binds to loopback when it is local, and keeps every temporary file in `scratch`."""
    builder = SparkSession.builder.master(master).appName(app)
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": f"{driver_memory_mib()}m",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} -XX:-UsePerfData",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # partitions are to come out as they went in
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        "spark.hadoop.parquet.summary.metadata.level": "NONE",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    if master.startswith("local"):
        options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class ProgressReporter:
    """Tells the parent how much of the running jobs is done, as a share of weights the job gives to its steps."""

    def __init__(self, session: SparkSession, emit: Callable[[dict[str, Any]], None]) -> None:
        self._tracker = session.sparkContext.statusTracker()
        self._context = session.sparkContext
        self._emit = emit
        self._done, self._weight, self._all = 0.0, 0.0, 1.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="spark-progress", daemon=True)

    def start(self, total_weight: float) -> None:
        self._all = max(total_weight, 1.0)
        self._thread.start()

    def step(self, weight: float) -> None:
        """The next Spark action is worth this much of the total; the one before is done."""
        self._done += self._weight
        self._weight = weight
        self._emit({"progress": self._done, "of": self._all})

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _poll(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            share = 0.0
            for stage in self._tracker.getActiveStageIds():
                info = self._tracker.getStageInfo(stage)
                if info is not None and info.numTasks > 0:
                    share = max(share, info.numCompletedTasks / info.numTasks)
            self._emit({"progress": self._done + self._weight * share, "of": self._all})


def spark_job(main: Callable[[SparkSession, dict[str, Any], ProgressReporter], Any]) -> None:
    """Runs one job of this process and answers on stdout."""
    _die_with_parent()
    arguments = orjson.loads(sys.stdin.buffer.readline())
    # The JVM and its children inherit descriptor 1: keep the answer channel to ourselves.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.set_inheritable(answers.fileno(), False)
    os.dup2(2, 1)
    lock = threading.Lock()

    def emit(message: dict[str, Any]) -> None:
        with lock:
            answers.write(orjson.dumps(message) + b"\n")

    session = open_session(arguments["master"], arguments["scratch"], arguments["app"])
    reporter = ProgressReporter(session, emit)
    jvm = session.sparkContext._gateway.proc
    try:
        result = main(session, arguments, reporter)
        reporter.close()
    except Exception:
        traceback.print_exc()
        # When the JVM has been killed, what fails here is some connection: say what happened.
        with suppress(subprocess.TimeoutExpired):
            said = f"Spark's JVM ended with status {jvm.wait(1)}; is the machine short of memory?"
            print(f"driver ERROR {said}", file=sys.stderr)  # as Spark marks them: threads may fail and print after it
        sys.exit(1)
    _stop(session, jvm)
    emit({"result": result})


def _stop(session: SparkSession, jvm: subprocess.Popen[bytes]) -> None:
    """Stops Spark and sees its JVM end, so that nobody writes into the scratch folder any more when we answer."""
    session.stop()
    # The JVM ends when its stdin does.
    assert jvm.stdin is not None
    jvm.stdin.close()
    try:
        jvm.wait(_JVM_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def _die_with_parent() -> None:
    """Asks the kernel for SIGTERM when the parent dies, however it dies; the JVM follows, its stdin being closed."""
    parent = os.environ.get("TOKENRING_PARENT_PID")
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if parent is not None and os.getppid() != int(parent):
        sys.exit("the parent process is gone")
