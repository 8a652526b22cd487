"""What tests of running queries need: an oracle in DuckDB, hand-made events, a run on real or simulated workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from tests.engine.helpers import simulated
from tests.nexmark.helpers import auction, bid, seal, table
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.pace import Measurements, Pace
from tokenring.nexmark.run.runner import Plan, declare, run_query
from tokenring.nexmark.staging.staged import StagedEvents

SOME_MORE = 10**6

_Q4 = """
    SELECT category, sum(best) AS total, count(*) AS count FROM (
        SELECT a.id, any_value(a.category) AS category, max(b.price) AS best
        FROM '{auction}' a JOIN '{bid}' b ON b.auction = a.id
        WHERE a.event < {events} AND b.event < {events}
          AND b.price >= a.reserve AND a.date_time <= b.date_time AND b.date_time < a.expires
        GROUP BY a.id)
    GROUP BY category ORDER BY category
"""
_Q7 = """
    SELECT (date_time // 10000000000 + 1) * 10000000000, max(price) FROM '{bid}'
    WHERE event < {events} GROUP BY 1 ORDER BY 1
"""


def expected(query: str, folder: Path, events: int = 2**62) -> list[dict[str, int]]:
    """The right answer from the Parquet files, which the engine does not read, by a database, which it does not use."""
    files = {name: str(folder / f"{name}.parquet" / "*.parquet") for name in ("auction", "bid")}
    with duckdb.connect() as database:
        rows = database.execute({"q4": _Q4, "q7": _Q7}[query].format(**files, events=events)).fetchall()
    if query == "q4":
        return [{"category": key, "average": int(total) // count, "count": count} for key, total, count in rows]
    return [{"window_end": end, "price": price} for end, price in rows]


def run(folder: Path, query: str, **plan: Any) -> dict[str, Any]:
    """Run a query on real workers."""
    return run_query(Plan(query, str(folder), **plan))


def simulate(
    folder: Path,
    query: str,
    workers: int,
    block: int,
    order: Sequence[int] = (),
    outstanding: int = 4,
    way: str = "tokens",
    micro_batch_ns: int = 1_000_000,
) -> list[dict[str, int]]:
    """The answer of simulated workers, stepped in the given order and then in turn; small rings and queues."""
    chosen = QUERIES[query]
    staged = StagedEvents.open(folder, check=chosen.checked)
    pace = Pace(staged.events, block, outstanding, micro_batch_ns=micro_batch_ns)
    plan = Plan(query, str(folder), mechanism=way)
    results, offered = [], []
    with simulated(workers) as group:
        for worker in group.workers:
            measurements = Measurements()
            measurements.start_ns = 0
            offered.append(measurements)
            with group.building(worker):
                results.append(declare(worker, plan, chosen, staged, pace, measurements))
        group.run([at % workers for at in order])
        assert sum(one.offered for one in offered) == staged.events
        return chosen.merge([result() for result in results])


def hand_made(
    folder: Path, auctions: Sequence[Mapping[str, Any]] = (), bids: Sequence[Mapping[str, Any]] = (), persons: int = 0
) -> Path:
    """A staged folder of rows that name their `event`, or stand in the order given: persons, auctions, bids."""
    numbers = iter(range(SOME_MORE))
    person_rows = [{"id": at, "date_time": 0, "event": next(numbers)} for at in range(persons)]
    auction_rows = [{"event": next(numbers), **auction(), **row} for row in auctions]
    bid_rows = [{"event": next(numbers), **bid(), **row} for row in bids]
    streams = {"person": person_rows, "auction": auction_rows, "bid": bid_rows}
    tables = {
        name: table(name, sorted(rows, key=lambda row: row["event"]), event=True) for name, rows in streams.items()
    }
    return seal(folder, tables)
