"""What a query is to the runner: the columns it reads, its dataflow, and how the workers' parts make the result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nexmark.schema import FLOOR
from operators.mechanisms import MECHANISMS, Progress

Columns = dict[str, list[int]]
"""One worker's part of a result: column name -> values."""


@dataclass(frozen=True)
class Query:
    """One NEXMark query.

    reads: stream -> columns, in the order in which `build` gets the streams. build(*streams, way=...) declares the
    dataflow under a mechanism and returns the probe of its output and a function that gives this worker's part once all
    is done. columns, sort_by: the result's shape. mechanisms: those it can be answered with.
    """

    name: str
    reads: dict[str, tuple[str, ...]]
    build: Callable[..., tuple[Progress, Callable[[], dict[str, Any]]]]
    columns: tuple[str, ...]
    sort_by: str
    mechanisms: tuple[str, ...] = tuple(name for name in MECHANISMS if name != "watermarks-P")  # it exchanges nothing

    @property
    def checked(self) -> dict[str, tuple[str, ...]]:
        """The columns whose checksums must hold before a run: those read, and those that time the streams."""
        return {
            stream: tuple(dict.fromkeys((*columns, "date_time", "event", FLOOR)))
            for stream, columns in self.reads.items()
        }

    def merge(self, parts: list[Columns]) -> list[dict[str, int]]:
        """The whole result: all parts' rows, sorted."""
        rows = [
            dict(zip(self.columns, values, strict=True))
            for part in parts
            for values in zip(*(part[column] for column in self.columns), strict=True)
        ]
        return sorted(rows, key=lambda row: row[self.sort_by])
