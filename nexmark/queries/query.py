"""What a query is to the runner: the columns it reads, its dataflow, and which rows of its output are the result."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import GraphError, Schema, Stream
from tokenring.nexmark.events import FLOOR
from tokenring.operators import Latest
from tokenring.operators.mechanisms import MECHANISMS, TOKENS

if TYPE_CHECKING:
    import pyarrow as pa

EXCHANGING = tuple([name for name in MECHANISMS if name != "watermarks-P"])
"""The mechanisms for queries that exchange rows between workers."""

SENT_AT = "#sent_at"
"""The column that tells of which time a row is, where rows of one key come from one worker and later from another."""

Columns = dict[str, Any]
"""One worker's part of a small result: column name -> what `batch[name]` is for its kind."""


@dataclass(frozen=True)
class Query:
    """One NEXMark query.

    reads: stream -> columns, in the order in which `build` gets the streams. build(*streams) declares the dataflow and
    returns the stream of the answer's rows, of the schema `result`. key: the columns that name a row of a result that
    changes, where the last row of each is what counts; all rows of one key must then come from one worker. () where
    all rows are the result. sort_by: given for small results, which every run gathers, sorted so; rows of others are
    counted, and kept for those who ask. mechanisms: those it can be answered with, which the
    dataflow is told. build may return a `Latest` of the result beside the stream, which an operator keeps up to date.
    checked_as: what of the result's rows is the same in all runs, where not all of it is.
    """

    name: str
    reads: dict[str, tuple[str, ...]]
    build: Callable[..., Stream | tuple[Stream, Latest]]
    result: Schema
    key: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = (TOKENS.name,)
    checked_as: Callable[["pa.Table"], "pa.Table"] = lambda rows: rows

    @property
    def is_small(self) -> bool:
        """Whether every run gathers the result."""
        return bool(self.sort_by)

    @property
    def checked(self) -> dict[str, tuple[str, ...]]:
        """The columns whose checksums must hold before a run: those read, and those that time the streams."""
        return {
            stream: tuple(dict.fromkeys((*columns, "date_time", "event", FLOOR)))
            for stream, columns in self.reads.items()
        }

    def declare(self, streams: Iterable[Stream]) -> tuple[Stream, Latest | None]:
        """The stream of the answer's rows, and the result where an operator keeps it."""
        built = self.build(*streams)
        stream, final = built if isinstance(built, tuple) else (built, None)
        if stream.schema != self.result:
            raise GraphError(f"{self.name} promises {self.result}, but builds {stream}; correct the query's `result`")
        return stream, final

    def merge(self, parts: list[Columns]) -> list[dict[str, Any]]:
        """The whole of a small result: all workers' rows, the last of each key, sorted. With SENT_AT beside, the last
        is the one of the greatest time of those that workers have last."""
        names = self.result.names
        found: list[tuple[int, dict[str, Any]]] = []  # with their times
        for part in parts:
            columns = [_listed(part[name]) for name in names]
            rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
            timed = list(zip(part[SENT_AT].tolist() if SENT_AT in part else [0] * len(rows), rows, strict=True))
            found += {self._key_of(row): (time, row) for time, row in timed}.values() if self.key else timed
        rows = [row for _, row in sorted(found, key=lambda one: one[0])]
        if self.key:
            rows = list({self._key_of(row): row for row in rows}.values())
        return sorted(rows, key=lambda row: tuple([row[name] for name in self.sort_by]))

    def _key_of(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple([row[name] for name in self.key])


def _listed(column: Any) -> list[Any]:
    """A column's values as JSON has them, None where null."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return [None if text == "NaT" else text for text in np.datetime_as_string(column).tolist()]
    values: list[Any] = column.tolist()
    return values
