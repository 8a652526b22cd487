"""`benchmark recovery`: what snapshots cost a run: throughput, and how late results are while one is taken.

`python -m scripts.benchmarks.recovery CASE` is one run; CASE is what `Case` has, as JSON, and so is what it prints.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson

from scripts.benchmarks.measure import RATE, ROUNDS, SECONDS, WORKERS, Found, Row, benchmark, child
from tokenring import Batch, Probe, Recovery, Schema, Stream, Worker, execute
from tokenring.nexmark.bench.parts import option, paired, spread, table, take_turns, worst
from tokenring.nexmark.events import Generator, GeneratorConfig
from tokenring.nexmark.measure.hiccups import hiccups_ms

_AUCTION = Schema("id date_time expires reserve category")
_BID = Schema("auction bidder date_time price")
_PASS = 4_000_000  # events that are made; they come again and again, later each time
_BLOCK_ROWS = 32_768  # of a closed loop
_AHEAD = 4  # blocks of a closed loop that are under way
_TICK_NS = 1_000_000  # from one block of an open loop to the next
_WARM_S = 2.0
_OF_SNAPSHOTS = ("mb", "stood_ms", "seconds")

Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """One run: a query, so many workers, whether snapshots are taken, and events a second (0: as fast as it goes)."""

    query: str
    workers: int
    every: str
    rate: float
    seconds: float


def q4(auctions: Stream, bids: Stream) -> Probe:
    """The average winning price of each category: auctions end, so there is little to keep."""
    winners = auctions.best_offers(
        bids, key="id", start="date_time", end="expires", threshold="reserve",
        payload="category", offer_key="auction", offer_time="date_time", offer_value="price",
    )  # fmt: skip
    return winners.running_average(key="category", value="price").probe()


def q18(auctions: Stream, bids: Stream) -> Probe:
    """Each bidder's last bid for each auction: millions of keys, of which most changes are new ones' at first."""
    return bids.top("bidder auction", order="date_time", k=1, ties="price", rank=None).probe()


_QUERIES: dict[str, Callable[[Stream, Stream], Probe]] = {"q4": q4, "q18": q18}
_MOVES = {"q4": "id auction", "q18": ""}
"""Which numbers are others each time that events come again: q4's auctions are new ones, q18's keys the same."""


@benchmark(
    option("--every DURATION", str, "From one snapshot to the next.", "10s"),
    option("--seconds S", SECONDS, "Of each run, after two that do not count.", 25.0),
    option("--rate N", RATE, "Events a second of the open loop.", 1e6), WORKERS, ROUNDS,
)  # fmt: skip
def command(every: str, seconds: float, rate: float, workers: tuple[int, ...], rounds: int) -> Found:
    """Two queries of NEXMark, with snapshots and without, by turns: as fast as they go, and in an open loop.

    q4 keeps the open auctions; q18 the last bid of some three million keys. In the open loop a block of events is due
    each millisecond, and done when its results are; a hiccup meter spins before each run.
    """
    cases = [
        Case(query, number, kept, speed, seconds)
        for query in _QUERIES
        for number in workers
        for speed in (0.0, rate)
        for kept in ("", every)
    ]
    found = take_turns("recovery", cases, rounds, _measure, warm_up=False)
    rows = []
    for case in cases:
        if case.every:
            rows.append(_row(case, found[replace(case, every="")], found[case]))
    return {"rounds": rounds, "every": every, "seconds": seconds, "rate": rate}, {"rows": rows}


def _measure(case: Case) -> dict[str, Any]:
    meters = hiccups_ms(case.workers, 0.5)
    asked = orjson.dumps(asdict(case)).decode()
    done = child(f"{case.query} with {case.workers} worker(s)", "-m", "scripts.benchmarks.recovery", asked)
    return {"hiccups_ms": meters, **orjson.loads(done.out)}


def _row(case: Case, without: list[dict[str, Any]], within: list[dict[str, Any]]) -> Row:
    rates = [[run["events_per_second"] for run in runs] for runs in (without, within)]
    snapshots = [one for run in within for one in run["snapshots"]]
    row: Row = {
        "query": case.query, "workers": case.workers, "rate": case.rate,
        "events_per_second": {"without": spread(rates[0]), "within": spread(rates[1])},
        "ratio": paired(rates[1], rates[0]),
        "hiccup_max_ms": spread(worst(run["hiccups_ms"])["max"] for run in [*without, *within]),
        "snapshots": len(snapshots) / len(within),
        **{name: spread(one[name] for one in snapshots) if snapshots else None for name in _OF_SNAPSHOTS},
    }  # fmt: skip
    if case.rate:
        row["latency_ms"] = {
            "without": _percentiles([late for run in without for _, late in run["late_ms"]]),
            "between": _percentiles(_late(within, during=False)),
            "during": _percentiles(_late(within, during=True)),
        }
    return row


def _late(runs: list[dict[str, Any]], during: bool) -> list[float]:
    """How late blocks were that were due while a snapshot was taken, or that were not."""
    found = []
    for run in runs:
        spans = [(one["from_s"], one["to_s"]) for one in run["snapshots"]]
        found += [late for due, late in run["late_ms"] if any(first <= due <= last for first, last in spans) == during]
    return found


def _percentiles(late_ms: list[float]) -> dict[str, float | None]:
    if not late_ms:
        return dict.fromkeys(("p50", "p99", "max"))
    return dict(zip(("p50", "p99", "max"), np.percentile(late_ms, (50, 99, 100)).tolist(), strict=True))


def tables(data: dict[str, Any]) -> list[str]:
    """Throughput with and without; and latencies without, between snapshots and during them."""
    asked, rows = data["parameters"], data["rows"]
    closed, opened = ([row for row in rows if bool(row["rate"]) == is_open] for is_open in (False, True))
    of_snapshots = (
        ("snapshots a run", "snapshots", 1.0), ("MB", "mb", 1.0), ("rows stand, ms", "stood_ms", 1.0),
        ("whole, s", "seconds", 1.0),
    )  # fmt: skip
    return [
        f"A snapshot every {asked['every']}, runs of {asked['seconds']:g} s, {asked['rounds']} rounds by turns.",
        table(
            closed, ("query", "query"), ("workers", "workers"),
            ("M events/s without", "events_per_second.without", 1e6), ("with", "events_per_second.within", 1e6),
            ("ratio", "ratio"), *of_snapshots,
        ),
        f"In an open loop of {asked['rate'] / 1e6:g} M events/s, a block each millisecond; latencies in ms, of all "
        f"runs together.",
        table(
            opened, ("query", "query"), ("workers", "workers"),
            *[
                (f"{name} {when}", f"latency_ms.{when}.{name}", 1.0)
                for name in ("p50", "p99", "max")
                for when in ("without", "between", "during")
            ],
            ("hiccup max", "hiccup_max_ms", 1.0), *of_snapshots,
        ),
    ]  # fmt: skip


class _Source:
    """The events of all time, a block at a time: those of a pass, then the same later."""

    def __init__(self, query: str, rows: int) -> None:
        generator = Generator(GeneratorConfig(events=_PASS))
        self._auctions = generator.columns("auction", 0, generator.rows("auction"))
        self._bids = generator.columns("bid", 0, generator.rows("bid"))
        self._moved = _MOVES[query].split()
        times = self._bids["date_time"]
        self._ends = [*times[rows::rows].tolist(), int(times[-1]) + 1]
        self._span = self._ends[-1] - GeneratorConfig(events=_PASS).base_time_ns
        self._ids = int(self._auctions["id"].max()) + 1

    def blocks(self) -> Iterator[tuple[int, Callable[[], list[Batch]]]]:
        """The time that each ends at, and a function for its auctions and bids."""
        for again in count():
            for start, end in pairwise([0, *self._ends]):
                yield end + again * self._span, partial(self._rows, start, end, again)

    def _rows(self, low: int, high: int, again: int) -> list[Batch]:
        later = {"date_time": self._span, "expires": self._span} | dict.fromkeys(self._moved, self._ids)
        batches = []
        for schema, columns in ((_AUCTION, self._auctions), (_BID, self._bids)):
            first, last = columns["date_time"].searchsorted([low, high])
            rows = {name: columns[name][first:last] + again * later.get(name, 0) for name in schema.names}
            batches.append(Batch(schema, rows))
        return batches


def _program(case: Case, worker: Worker) -> dict[str, Any]:
    """Feed blocks for some seconds: how many events in how long, and how late each block was, by when it was due."""
    sent = 0
    worker.save("sent", lambda: sent)
    with worker.dataflow(case.query) as scope:
        (auctions, of_auctions), (bids, of_bids) = (
            scope.new_input(schema, name) for schema, name in ((_AUCTION, "auctions"), (_BID, "bids"))
        )
        inputs, probe = (auctions, bids), _QUERIES[case.query](of_auctions, of_bids)
    rows = int(case.rate * _TICK_NS / 1e9 * 46 / 50) if case.rate else _BLOCK_ROWS  # 46 of 50 events are bids
    blocks = _Source(case.query, rows).blocks()
    worker.barrier()
    now = began = time.time_ns()
    counted_from, until = began + int(_WARM_S * 1e9), began + int((_WARM_S + case.seconds) * 1e9)
    events, late_ms = 0, []
    under_way: deque[tuple[int, int, int]] = deque()  # when each was due, its end, and how many events of it are here
    while now < until or under_way:
        due = began + sent * _TICK_NS if case.rate else now
        if due <= now < until and (case.rate or len(under_way) < _AHEAD):
            end, rows_of = next(blocks)
            here = 0
            if sent % worker.peers == worker.index:
                for handle, batch in zip(inputs, rows_of(), strict=True):
                    handle.send(batch)
                    here += batch.rows
            for handle in inputs:
                handle.advance_to(end)
            under_way.append((due, end, here))
            sent += 1
        worker.step()
        now = time.time_ns()
        while under_way and not probe.less_than(under_way[0][1]):
            due, _, here = under_way.popleft()
            if due >= counted_from:
                events += here
                late_ms.append((due / 1e9, (now - due) / 1e6))
    for handle in inputs:
        handle.close()
    worker.run()
    return {"events": events, "seconds": (now - counted_from) / 1e9, "late_ms": late_ms}


def _snapshots(folder: Path) -> list[dict[str, float]]:
    """From when to when each was taken, how long rows stood meanwhile, and how much was written."""
    found = []
    for path in sorted(folder.glob("snapshot-*/manifest.json")):
        seconds, end_s = orjson.loads(path.read_bytes())["seconds"], path.stat().st_mtime
        if seconds:
            stood = seconds["standing"] + seconds["coming to rest"] + seconds["copying"]
            size = sum(file.stat().st_size for file in path.parent.iterdir())
            found.append(
                {
                    "from_s": end_s - sum(seconds.values()), "to_s": end_s, "seconds": sum(seconds.values()),
                    "stood_ms": stood * 1e3, "mb": size / 1e6,
                }
            )  # fmt: skip
    return found


def _run(case: Case) -> dict[str, Any]:
    with TemporaryDirectory(prefix="tokenring-recovery-") as folder:
        recovery = Recovery(folder, every=case.every, keep=100) if case.every else None
        found = execute(partial(_program, case), workers=case.workers, recovery=recovery)
        return {
            "events_per_second": sum(one["events"] for one in found) / found[0]["seconds"],
            "late_ms": found[0]["late_ms"] if case.rate else [],
            "snapshots": _snapshots(Path(folder)),
        }


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(_run(Case(**orjson.loads(sys.argv[1])))))
