"""A limit that keeps Java from starting is named, whatever Java says."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports import ROOT

JOB = """
from pathlib import Path
from tokenring.nexmark.spark import run_spark_job

run_spark_job("tokenring.nexmark.oracle.job", {"master": "local[1]"}, Path("SCRATCH"))
"""


@pytest.mark.parametrize(
    ("limit", "said"),
    [("-n 64", "`ulimit -n` allows 64 open files"), ("-v 3000000", "`ulimit -v` allows 2929 MiB")],
)
def test_a_low_limit_is_named(tmp_path: Path, limit: str, said: str) -> None:
    script = f"ulimit {limit}; exec {sys.executable} -c '{JOB.replace('SCRATCH', str(tmp_path))}'"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]


def test_limits_are_not_blamed_where_they_are_high() -> None:
    from tokenring.nexmark.spark.limits import low_limits

    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 1024:
        assert low_limits() == []
