"""An arrangement that other dataflows use while it is there: what an answer takes that need not build it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from tokenring.engine import Batch, Config, Schema, Stream, Worker, execute
from tokenring.nexmark.bench.collections.closed_loop import AT_REST, ClosedLoop
from tokenring.nexmark.bench.collections.records import latency_row, records
from tokenring.nexmark.bench.parts import Row
from tokenring.nexmark.measure import group_mb
from tokenring.operators.collections import Arranged, collection, import_arrangement
from tokenring.operators.expressions import col
from tokenring.operators.folds import Count, Min

IMPORT: Final = "import"
_RECORDS: Final = 10_000_000
_LOOK_UPS: Final = 400
_VALUES: Final = 1 << 62
_EXPORTED: Final = "records"


def _counted(shared: Arranged) -> Stream:
    buckets = shared.collection().select(bucket=col("value") % 100)
    return buckets.aggregate("bucket", rows=Count()).stream


_ASKED: Final[dict[str, Callable[[Arranged], Stream]]] = {
    "count by value % 100": _counted,
    "min per key": lambda shared: shared.aggregate(least=Min("value")).collection().stream,
}


def measured_imports(workers: int, scale: float) -> list[Row]:
    """A row for the first look-up of a key, for further ones, and for each query that a new dataflow asks."""
    Batch(Schema("loaded"), {"loaded": [1]}).to_arrow()  # for all workers: with its first array Arrow loads pandas
    loaded = max(1, int(_RECORDS * scale))
    parts = execute(lambda worker: _work(worker, loaded), config=Config(workers=workers))
    load_s = max(part["load_s"] for part in parts)
    common = {
        "workers": workers,
        "epoch_rows": loaded,
        "loaded_rows": loaded,
        "is_load": False,
        "load_s": load_s,
        "rss_mb": max(part["rss_mb"] for part in parts),
    }
    taken = {
        "first look-up": [max(part["look_ups_s"][0] for part in parts)],
        "look-up": [one for part in parts for one in part["look_ups_s"][1:]],
        **{name: [max(part["asked_s"][name] for part in parts)] for name in _ASKED},
    }
    rows = []
    for name, seconds in taken.items():
        latencies = latency_row([1e3 * second for second in seconds])
        changed = 1 if name.endswith("look-up") else loaded
        rate = {"changes_per_second": 1e3 * changed / latencies["p50_ms"]}
        rows.append({"workload": f"{IMPORT}: {name}", **common, **rate, **latencies})
    return rows


def _work(worker: Worker, loaded: int) -> dict[str, Any]:
    """One worker's program."""
    with worker.dataflow("exports") as scope:
        loop = ClosedLoop(scope, 1, loaded, (loaded, _VALUES), [], (worker.index, worker.peers))
        arranged = collection(loop.streams[0], times="times").arrange("key")
        probe = arranged.sealed.probe()
        loop.watch(probe)
        view = arranged.export(_EXPORTED)
    loop.start_at(worker.barrier())
    worker.step_while(lambda: probe.less_than(AT_REST) or view.upper < AT_REST)
    worker.barrier()
    look_ups_s = []
    for key in records(0, _LOOK_UPS, 0, loaded, _VALUES)[0].tolist():
        start_s = time.perf_counter()
        view.at(key=key)
        look_ups_s.append(time.perf_counter() - start_s)
    asked_s = {}
    for name, ask in _ASKED.items():
        worker.barrier()
        start_s = time.perf_counter()
        with worker.dataflow(name) as scope:
            answered = ask(import_arrangement(scope, _EXPORTED)).probe()
        while answered.less_than(AT_REST):
            worker.step_or_park()
        asked_s[name] = time.perf_counter() - start_s
    worker.barrier()
    rss_mb = group_mb() if worker.index == 0 else 0.0
    worker.barrier()
    loop.end()
    worker.run()
    return {"load_s": loop.loaded_s, "look_ups_s": look_ups_s, "asked_s": asked_s, "rss_mb": rss_mb}
