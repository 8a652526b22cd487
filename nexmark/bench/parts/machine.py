"""What figures were measured on: processor, versions, commit; never the machine's name."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tokenring.engine.worker import usable_cores

_CHECKOUT = Path(__file__).parents[3]
_MEASURED = ("shm", "engine", "operators", "nexmark", "tokenring", "scripts")


def machine() -> dict[str, Any]:
    """Facts that a figure is worth little without."""
    return {
        "processor": _processor(),
        "cores": len(usable_cores()),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("numpy", "numba", "duckdb", "polars")},
        "commit": _commit(),
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The checkout's commit, marked where the code that is measured is not what was committed."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return f"{commit} with changes" if _git("status", "--porcelain", "--", *_MEASURED) else commit
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_CHECKOUT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
