"""One Spark for the jobs of many tests: a process that keeps its session between them, and the test's side of it.

A JVM takes as long to start as most of these jobs take. Tests about processes start their own, as the command does.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests import leaks
from tokenring.nexmark.errors import SparkError
from tokenring.nexmark.spark import process as spark_process
from tokenring.nexmark.spark.process import end_session, spark_environment


class ResidentSpark:
    """Takes the place of `run_spark_job`: the same job modules, arguments and results, in one session after the other
    of the same JVM."""

    def __init__(self, scratch: Path) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process whose words it takes
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.nexmark.resident_spark", str(scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=spark_environment(),
            start_new_session=True,
        )
        leaks.KEPT.add(self._process.pid)
        self._answer()  # it is up

    def run(
        self,
        module: str,
        arguments: dict[str, Any],
        scratch: Path,
        progress: Callable[[float, float], None] | None = None,
    ) -> Any:
        """What `run_spark_job` does. Its `master` is the resident's own."""
        assert self._process.stdin is not None
        job = {"module": module, "arguments": arguments | {"scratch": str(scratch)}}
        self._process.stdin.write(orjson.dumps(job) + b"\n")
        self._process.stdin.flush()
        while "progress" in (message := self._answer()):
            if progress is not None:
                progress(message["progress"], message["of"])
        if "error" in message:
            raise SparkError(message["error"])
        return message["result"]

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """Within the block, whoever runs a Spark job runs it here."""
        original = spark_process.run_spark_job
        with pytest.MonkeyPatch.context() as patch:
            for module in list(sys.modules.values()):
                if getattr(module, "run_spark_job", None) is original:
                    patch.setattr(module, "run_spark_job", self.run)
            yield

    def close(self) -> None:
        """End it, and all that it started."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        end_session(self._process)
        self._log.close()
        leaks.KEPT.discard(self._process.pid)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise SparkError(f"the tests' Spark has ended:\n{self._log.read().decode(errors='replace')}")
        message: dict[str, Any] = orjson.loads(line)
        return message


def _serve(scratch: str) -> None:
    """Answer jobs on stdin, a line each, until its end."""
    import traceback

    from tokenring.nexmark.spark.jobs.session import ProgressReporter, open_session

    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.set_inheritable(answers.fileno(), False)
    os.dup2(2, 1)

    def emit(message: dict[str, Any]) -> None:
        answers.write(orjson.dumps(message) + b"\n")

    session = open_session("local[2]", scratch, "tokenring tests")
    emit({"result": None})
    for line in sys.stdin.buffer:
        job = orjson.loads(line)
        reporter = ProgressReporter(session, emit)
        try:
            main = importlib.import_module(job["module"]).main
            answer = {"result": main(session.newSession(), job["arguments"], reporter)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        reporter.close()
        session.catalog.clearCache()
        emit(answer)
    session.stop()


if __name__ == "__main__":
    _serve(sys.argv[1])
