"""What is measured of collections: what is built over the records, how many there are, and how they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tokenring.engine import Stream
from tokenring.nexmark.bench.collections.closed_loop import MOST_STREAMS
from tokenring.operators.collections import Collection, connected_components, distances, page_rank, strong_edges
from tokenring.operators.expressions import col, lit
from tokenring.operators.folds import Min

EPOCHS: Final = (1, 10, 100, 1_000)
"""Changes of an epoch, over all workers."""
REPLACED: Final = 2
"""Changes that replace an edge."""
ROUNDS: Final = 20
_UNBOUNDED: Final = 1 << 62
_MILLION: Final = 1_000_000


@dataclass(frozen=True)
class Workload:
    """build: what is kept up to date, as the stream that tells when it is. streams: inputs; records: loaded into each,
    of so many keys and values. epochs: changes of an epoch, phase by phase; most: how many changes, at most. only_adds:
    records come and none go."""

    name: str
    build: Callable[..., Stream]
    records: int
    keys: int
    values: int
    epochs: tuple[int, ...] = EPOCHS
    streams: int = 1
    most: int = _UNBOUNDED
    only_adds: bool = False

    def __post_init__(self) -> None:
        assert self.streams <= MOST_STREAMS


def _arrange(rows: Collection) -> Stream:
    arranged = rows.arrange("key")
    arranged.trace.read_all()  # nothing is kept of what nobody reads
    return arranged.sealed


def _join(left: Collection, right: Collection) -> Stream:
    return left.join(right.select("key", other=col("value")), "key").stream


def _edges(rows: Collection) -> Collection:
    return rows.select(src=col("key"), dst=col("value"))


def _bfs(rows: Collection) -> Stream:
    edges = _edges(rows)
    return distances(edges, edges.select(node=lit(0)).distinct("root")).stream


def _all() -> tuple[Workload, ...]:
    rows, pairs, nodes, edges = 10 * _MILLION, _MILLION, _MILLION, 5 * _MILLION
    any_value = 1 << 62
    return (
        Workload("arrange, one epoch", _arrange, rows, rows, any_value, ()),
        Workload("arrange", _arrange, 0, rows, any_value, (1_000,), most=rows, only_adds=True),
        Workload("count", lambda of: of.count("key").stream, pairs, pairs, any_value),
        Workload("min", lambda of: of.aggregate("key", least=Min("value")).stream, pairs, pairs, any_value),
        Workload("join", _join, pairs, pairs, any_value, streams=2),
        Workload("bfs", _bfs, edges, nodes, nodes, (REPLACED,)),
        Workload("components", lambda of: connected_components(_edges(of)).stream, edges, nodes, nodes, (REPLACED,)),
        Workload("strong", lambda of: strong_edges(_edges(of)).stream, 200_000, 100_000, 100_000, (REPLACED,)),
        Workload("page rank", lambda of: page_rank(_edges(of), ROUNDS).stream, 50_000, 10_000, 10_000, (REPLACED,)),
    )


WORKLOADS: Final = {workload.name: workload for workload in _all()}


def sized(workload: Workload, scale: float) -> Workload:
    """The workload with as many times the records and keys; values where they are nodes, too."""

    def of(number: int) -> int:
        return max(1, int(number * scale)) if number else 0

    values = of(workload.values) if workload.values == workload.keys else workload.values
    most = workload.most if workload.most == _UNBOUNDED else of(workload.most)
    return Workload(
        workload.name, workload.build, of(workload.records), of(workload.keys), values,
        workload.epochs, workload.streams, most, workload.only_adds,
    )  # fmt: skip
