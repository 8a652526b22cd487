"""A reference as its asker sees it: a process that holds the events in memory, and answers queries one by one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from scripts.benchmarks.measure import ROOT
from tokenring.how_to_install import how_to_install
from tokenring.tools.errors import CommandError, OptionError


class Reference:
    """A running reference; use it in a `with` block. `python -m scripts.benchmarks.references.MODULE serve FOLDER
    EVENTS QUERY...` answers JSON lines: {"query", "threads", "whole"} -> {"seconds", "rows", "result"}, the result only
    of small ones; with `whole` -> {"fingerprint"} of all rows instead, untimed.
    """

    def __init__(self, package: str, folder: Path, events: int, queries: Sequence[str], threads: int = 0) -> None:
        """package: "duckdb" or "polars". threads: how many its process is started with, where they cannot be set later,
        as with Polars; 0: they can."""
        require_installed(package)
        self.package = package
        module = f"scripts.benchmarks.references.{self.package}_process"
        self._arguments = [sys.executable, "-m", module, "serve", str(folder.resolve()), str(events), *queries]
        self._environment = os.environ | ({"POLARS_MAX_THREADS": str(threads)} if threads else {})

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._arguments, cwd=ROOT, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        self._process.communicate()

    def answer(self, query: str, threads: int) -> dict[str, Any]:
        """Run a query; its seconds and its result, shaped as a run's."""
        return self._asked({"query": query, "threads": threads, "whole": False})

    def fingerprint(self, query: str, threads: int) -> list[int]:
        """Run a query and hash all of its rows."""
        found: list[int] = self._asked({"query": query, "threads": threads, "whole": True})["fingerprint"]
        return found

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(question) + b"\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CommandError(
                f"the process of {self.package} ended with status {self._process.wait()}; what it said is above"
            )
        answer: dict[str, Any] = orjson.loads(line)
        return answer


def require_installed(package: str) -> None:
    """OptionError for a reference that is not there."""
    if find_spec(package) is None:
        raise OptionError(f"{package} is not installed; {how_to_install('bench')}, or run ./scripts/benchmark")
