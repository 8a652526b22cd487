"""Runs a Spark job in a process of its own: quiet while it works, its stderr shown when it fails, gone when we go."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import psutil

from tokenring.nexmark.errors import SparkError
from tokenring.nexmark.spark.java import find_java_home
from tokenring.nexmark.spark.limits import low_limits
from tokenring.tools.blas import environment_of_others
from tokenring.tools.extras import require_extra

_PLAIN = re.compile(r"[A-Za-z0-9_./+=@~-]+")
_SHOWN_LINES = 4
_SHOWN_CHARACTERS = 200
_GRACE_SECONDS = 10.0
_POLL_SECONDS = 0.05
_FOREIGN_VARIABLES = ("SPARK_HOME", "SPARK_DIST_CLASSPATH")
_SITE_VARIABLES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "PYSPARK_SUBMIT_ARGS")


def spark_environment(master: str = "local", of_site: bool = False) -> dict[str, str]:
    """The job's environment: our Java, our Python, our pyspark, loopback only where Spark is local, no settings of
    another installation; those for the machines of a site are kept where the job is `of_site`."""
    foreign = (*_FOREIGN_VARIABLES, *(() if of_site else _SITE_VARIABLES))
    environment = {k: v for k, v in environment_of_others().items() if k not in foreign}
    if master.startswith("local"):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    root = str(Path(__file__).parents[3])
    paths = [root, *filter(None, [environment.get("PYTHONPATH")])]
    return environment | {
        "JAVA_HOME": str(find_java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(paths),
        "TOKENRING_PARENT_PID": str(os.getpid()),
    }


def require_spark(what: str) -> None:
    """Raise MissingExtra unless Spark is installed, for `what`: before the work, not after."""
    require_extra("spark", what, "pyspark", "pandas")


def run_spark_job(
    module: str, arguments: dict[str, Any], scratch: Path, progress: Callable[[float, float], None] | None = None
) -> Any:
    """Runs `python -m module`, hands it the arguments, returns its result; `scratch` must exist and is the caller's.
    MissingExtra where there is no Spark.

    Of the arguments, `master` and `of_site` (default false) say in what environment: see spark_environment.
    """
    require_spark("this")
    line = orjson.dumps(arguments | {"scratch": str(scratch)}) + b"\n"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=spark_environment(arguments["master"], arguments.get("of_site", False)),
            start_new_session=True,  # Ctrl-C reaches us alone, and we end the job
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(line)
            process.stdin.close()
            result, answered = None, False
            for answer in process.stdout:
                message = orjson.loads(answer)
                if "result" in message:
                    result, answered = message["result"], True
                elif progress is not None:
                    progress(message["progress"], message["of"])
            status = process.wait()
        except BrokenPipeError:
            status, answered = process.wait(), False
        finally:
            process.stdout.close()
            end_session(process)
        if status != 0 or not answered:
            log.seek(0)
            raise SparkError(_failure(module, status, log.read().decode(errors="replace")))
        return result


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Ends all that the job started (the JVM, Spark's Python workers), and waits until it is gone.

    The job leads a session of its own, which its descendants share even when their parents are gone.
    """
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for member in _session_members(process.pid):
            with suppress(psutil.NoSuchProcess):
                end(member)
        deadline = time.monotonic() + _GRACE_SECONDS
        while _session_members(process.pid) and time.monotonic() < deadline:
            process.poll()
            time.sleep(_POLL_SECONDS)
    process.wait()


def _session_members(session: int) -> list[psutil.Process]:
    """Those of the session that still run; an orphan that nobody has reaped yet does not."""
    members = []
    for pid in psutil.pids():
        with suppress(ProcessLookupError, PermissionError, psutil.NoSuchProcess):
            if os.getsid(pid) == session and (member := psutil.Process(pid)).status() != psutil.STATUS_ZOMBIE:
                members.append(member)
    return members


@contextmanager
def plain_path(path: Path) -> Iterator[Path]:
    """The same folder by a name that Spark and Hadoop take literally: they read meaning into [, {, comma, space, …."""
    if _PLAIN.fullmatch(str(path)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tokenring-path-") as folder:
        link = Path(folder) / "events"
        link.symlink_to(path)
        yield link


def _failure(module: str, status: int, log: str) -> str:
    """What went wrong, a limit, or from Spark's stderr the innermost cause, the errors it logged, the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    errors = [line.partition(" ERROR ")[2] for line in lines if " ERROR " in line]
    told = list(dict.fromkeys([*low_limits(), *causes[-1:], *errors, *lines[-1:]]))[:_SHOWN_LINES]
    shown = " | ".join(line[:_SHOWN_CHARACTERS] for line in told) or "it said nothing"
    return f"Spark failed in {module} (exit status {status}): {shown}"
