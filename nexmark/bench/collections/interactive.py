"""Questions about a graph that come at a rate: look-ups, one hop, two hops, short paths; each is asked and taken back,
over indexes that all share or that each has for itself.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from tokenring.engine import Config, Probe, Schema, Worker, execute
from tokenring.nexmark.bench.collections.closed_loop import ClosedLoop
from tokenring.nexmark.bench.collections.records import latency_row, records
from tokenring.nexmark.bench.parts import Row
from tokenring.nexmark.measure import group_mb
from tokenring.operators.collections import Arranged, Collection, collection
from tokenring.operators.expressions import col, lit
from tokenring.operators.folds import Count, Min

INTERACTIVE: Final = "interactive"
RATE: Final = 2_000
"""Questions a second, over all workers."""
_TICK_NS: Final = 1_000_000
_NODES, _EDGES = 1_000_000, 5_000_000
KINDS: Final = 4
QUESTION: Final = Schema("kind id node target time times")


class Graph:
    """The edges of a graph by where they begin, or end; with `is_shared`, once for all who ask."""

    def __init__(self, edges: Collection, is_shared: bool) -> None:
        self._edges, self._is_shared = edges, is_shared
        self._kept: dict[str, Arranged] = {}

    def _arranged(self, name: str, rows: Callable[[], Collection]) -> Arranged:
        if name not in self._kept or not self._is_shared:
            self._kept[name] = rows().arrange("node", name)
        return self._kept[name]

    @property
    def onward(self) -> Arranged:
        """(node, next): edges by where they begin."""
        return self._arranged("onward", lambda: self._edges.select(node=col("key"), next=col("value")))

    @property
    def back(self) -> Arranged:
        """(node, next): edges by where they end."""
        return self._arranged("back", lambda: self._edges.select(node=col("value"), next=col("key")))

    @property
    def degrees(self) -> Arranged:
        """(node, degree): how many edges begin there."""
        edges = self._edges.select(node=col("key"))
        return self._arranged("degrees", lambda: edges.aggregate("node", degree=Count()))


def answers(asked: Collection, graph: Graph) -> Collection:
    """Rows (id, found): a node's degree; its neighbours; theirs; and the steps to another node, if four are enough."""

    def of(kind: int) -> Collection:
        return asked.filter(col("kind") == kind)

    degrees = of(0).select("node", "id").arrange("node").join(graph.degrees)
    one = of(1).select("node", "id").arrange("node").join(graph.onward)
    onward = graph.onward
    two = _hop(of(2).select("node", "id"), onward).arrange("node").join(onward)
    path = _steps(of(3), graph)
    found = [degrees.select("id", found=col("degree")), *[hops.select("id", found=col("next")) for hops in (one, two)]]
    return found[0].concat(*found[1:], path)


def _hop(rows: Collection, edges: Arranged) -> Collection:
    """The nodes that an edge leads to, with what else the rows have."""
    others = [name for name in rows.schema.names if name != "node"]
    return rows.arrange("node").join(edges).select(*others, node=col("next"))


def _steps(asked: Collection, graph: Graph) -> Collection:
    """Two hops from either end: where they meet."""
    sides = []
    for end, edges, name in (("node", graph.onward, "here"), ("target", graph.back, "there")):
        none = asked.select("id", node=col(end))
        one = _hop(none, edges)
        hops = [rows.select("id", "node", **{name: lit(n)}) for n, rows in enumerate((none, one, _hop(one, edges)))]
        sides.append(hops[0].concat(*hops[1:]).arrange("id node"))
    met = sides[0].join(sides[1]).select("id", steps=col("here") + col("there"))
    return met.aggregate("id", steps=Min("steps")).select("id", found=col("steps"))


def measured_interactive(workers: int, scale: float, seconds: float) -> list[Row]:
    """A row with shared indexes, and one with indexes of each question's own."""
    rows = []
    for is_shared in (True, False):
        program = partial(_work, scale=scale, seconds=seconds, is_shared=is_shared)
        parts = execute(program, config=Config(workers=workers))
        latencies_ms = np.concatenate([part["latencies_ns"] for part in parts]) / 1e6
        rows.append(
            {
                "workload": f"{INTERACTIVE}: {'shared' if is_shared else 'own indexes'}",
                "workers": workers,
                "epoch_rows": RATE * _TICK_NS // 1_000_000_000,
                "changes_per_second": sum(part["rate"] for part in parts),
                **latency_row(latencies_ms),
                "is_load": False,
                "loaded_rows": int(_EDGES * scale),
                "load_s": max(part["load_s"] for part in parts),
                "rss_mb": max(part["rss_mb"] for part in parts),
            }
        )
    return rows


def _work(worker: Worker, scale: float, seconds: float, is_shared: bool) -> dict[str, Any]:
    """One worker's program."""
    nodes = max(1, int(_NODES * scale))
    with worker.dataflow(INTERACTIVE) as scope:
        loop = ClosedLoop(scope, 1, int(_EDGES * scale), (nodes, nodes), [], (worker.index, worker.peers))
        questions, asked = scope.new_input(QUESTION, "questions")
        graph = Graph(collection(loop.streams[0], times="times"), is_shared)
        probe = answers(collection(asked, "time", "times"), graph).stream.probe()
        loop.watch(probe)
    questions.advance_to(1)
    loop.start_at(worker.barrier())
    worker.step_while(lambda: probe.less_than(1))
    start_ns = worker.barrier()
    latencies_ns, asked_s = _ask(worker, questions, probe, nodes, start_ns, seconds)
    questions.close()
    worker.barrier()
    rss_mb = group_mb() if worker.index == 0 else 0.0
    worker.barrier()
    loop.end()
    worker.run()
    rate = RATE / worker.peers * seconds / asked_s
    return {"latencies_ns": np.array(latencies_ns), "rate": rate, "load_s": loop.loaded_s, "rss_mb": rss_mb}


def _ask(
    worker: Worker, questions: Any, probe: Probe, nodes: int, start_ns: int, seconds: float
) -> tuple[list[int], float]:
    """An open loop: what is due at a tick is sent then, and taken back a tick later. Latencies from the tick on."""
    ticks = int(seconds * 1e9) // _TICK_NS
    each = RATE * _TICK_NS // 1_000_000_000
    ends = records(0, ticks * each, 1, nodes, nodes)
    own = np.arange(worker.index, ticks * each, worker.peers)
    bounds = np.searchsorted(own, np.arange(ticks + 1) * each)
    waiting: deque[tuple[int, int]] = deque()  # a tick's time, and when it was due
    latencies_ns: list[int] = []
    tick = 0
    while tick < ticks or waiting:
        now_ns = time.monotonic_ns()
        due_ns = start_ns + (tick + 1) * _TICK_NS
        if tick < ticks and now_ns >= due_ns:
            at = tick + 1
            chosen = own[bounds[tick] : bounds[tick + 1]]
            if len(chosen):
                both = np.concatenate([chosen, chosen])
                sent = {"kind": both % KINDS, "id": both, "node": ends[0][both], "target": ends[1][both]}
                sent["time"] = np.repeat([at, at + 1], len(chosen))
                sent["times"] = np.repeat([1, -1], len(chosen))
                questions.send(sent)
            questions.advance_to(at + 1)
            waiting.append((at, due_ns))
            tick += 1
        worker.step()
        frontier = probe.frontier
        while waiting and waiting[0][0] < frontier:
            latencies_ns.append(time.monotonic_ns() - waiting.popleft()[1])
    return latencies_ns, (time.monotonic_ns() - start_ns) / 1e9
