"""`benchmark worth`: what it is worth that a table was staged, one proved fact after the other left out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter, sleep
from typing import Any, NamedTuple
from unittest.mock import patch

from scripts.benchmarks import road_programs
from scripts.benchmarks.measure import INPUT, ROUNDS, WORKERS, Found, Row, benchmark, of_events, opened
from scripts.benchmarks.queries import counted
from scripts.benchmarks.references import Case, hashed, require_equal
from scripts.benchmarks.references.processes import Files
from scripts.benchmarks.road_programs import Events
from tokenring import SECOND, Count, Stream, Sum, Tumbling, Worker, col, execute, run
from tokenring.nexmark.bench.parts import paired, spread, table, take_turns
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.measure import anonymous_mb
from tokenring.operators.staging import StagedTable, raw_files, stage_files

WHOLE = "nothing"
NO_KEYS = "unique columns: staged without --unique"
OTHER_ORDER = "order by this time: staged by another column"
ALONE = "distinct texts: each row has its own"
ONE_TIME = "times: one for all rows, time=0"
DISORDER = "promises of order: the raw columns, disorder=1 s"
FILES = "all of it: plain Parquet files"
STAGED = (WHOLE, NO_KEYS, OTHER_ORDER, ALONE)
"""The ways that are staged by themselves; others read what WHOLE does, or the files."""

COLUMNS = {
    "bid": "auction price channel date_time event",
    "auction": "id seller category date_time event",
    "person": "id date_time event",
}
KEYS = {"auction": ("id",), "person": ("id",)}
"""The columns that are unique."""
_POLL_S = 0.002


@dataclass(frozen=True)
class Tables(Events):
    """The three streams in one of the ways. staged: the folder that has the others, each in one of its name."""

    staged: Path
    way: str

    def _read(self, stream: str, columns: str, time: str | int) -> Stream:
        if self.way == FILES:
            return super()._read(stream, columns, time)
        folder = self.staged / _folder_of(self.way if self.way in STAGED else WHOLE)
        if self.way == DISORDER:
            table, names = StagedTable(folder, stream), columns.split()
            files = {name: table.column(name).path for name in names}
            return self.scope.read_columns(table.schema.select(names), files, time=time, disorder=SECOND)
        instead: dict[str, str | int] = {ONE_TIME: 0, OTHER_ORDER: "event"}
        return self.scope.read_staged(folder, stream, columns=columns, time=instead.get(self.way, time))


def by_category(events: Events) -> Stream:
    """How many bids the auctions of each category have, and their prices, while both come."""
    bids = events.bids("auction price date_time", time="date_time").drop_columns("date_time")
    auctions = events.auctions("id category date_time", time="date_time").drop_columns("date_time")
    offers = auctions.join(bids, on={"id": "auction"})
    return offers.aggregate("category", Count().alias("bids"), Sum("price").alias("prices"), emit="final")


def by_second(events: Events) -> Stream:
    """How many bids each auction has in each second."""
    bids = events.bids("auction date_time", time="date_time")
    return bids.aggregate("auction", window=Tumbling("date_time", SECOND), bids=Count())


def by_channel(events: Events) -> Stream:
    """How many bids come through each channel."""
    return events.bids("channel date_time", time="date_time").aggregate("channel", bids=Count(), emit="final")


def of_one_second(events: Events) -> Stream:
    """How many bids each auction has in the tenth second of generated events."""
    bids = events.bids("auction date_time", time="date_time")
    first = GeneratorConfig.base_time_ns + 9 * SECOND
    in_it = bids.filter(col("date_time").between(first, first + SECOND - 1))
    return in_it.aggregate("auction", bids=Count(), emit="final")


class Program(NamedTuple):
    """One thing that is asked. without: the ways that leave out what it may use, beside the files."""

    said: str
    build: Callable[[Events], Stream]
    without: tuple[str, ...]


PROGRAMS = {
    "people": Program("interval join of people and auctions (Q8)", road_programs.q8, (NO_KEYS, ONE_TIME)),
    "category": Program("join of auctions and bids, by category", by_category, (NO_KEYS, ONE_TIME)),
    "second": Program("bids of each auction and second", by_second, (DISORDER, ONE_TIME)),
    "channel": Program("bids of each channel", by_channel, (ALONE, ONE_TIME)),
    "filter": Program("bids of each auction in one second", of_one_second, (OTHER_ORDER,)),
}


@benchmark(INPUT, WORKERS, ROUNDS)
def command(folder: Path, workers: tuple[int, ...], rounds: int) -> Found:
    """What staging did beforehand: programs over `read_staged`, with all that is proved of the tables, without one
    fact, and over the Parquet files of the same rows.

    The tables are staged out of a staged folder's Parquet files, with the columns that the programs read; that is timed
    once. A run is the call that ends with the answer as a table, forks included. Before the rounds each program runs
    once in each way and with each number of workers: all rows of all answers are compared; and once more for the memory
    of its own that the largest worker has then, looked at every 2 ms.

    All but one fact can be left out by who uses the package: by staging without `--unique`, or by a column that has
    nothing to do with the times, here the numbers of events; or reading with `time=0`. Only the writer of texts is
    told, within, to share none.
    """
    staged, events = opened(folder)
    files = Files(folder.resolve())
    cases = [
        Case(way, name, count)
        for name, program in PROGRAMS.items()
        for count in workers
        for way in (WHOLE, *program.without, FILES)
    ]
    with TemporaryDirectory(prefix="tokenring-worth-") as scratch:
        tables_made = [stage(files, Path(scratch), way, stream) for stream in COLUMNS for way in STAGED]
        tables_of = partial(Tables, files=files, staged=Path(scratch))
        require_equal((case, answer_of(case, tables_of)) for case in counted(cases))
        memory = {case: memory_of(case, tables_of) for case in cases}
        outcomes = take_turns("worth", cases, rounds, partial(seconds_of, tables_of=tables_of), warm_up=False)
    rows = summarise(outcomes, memory)
    return of_events(staged, events, rounds), {"verified": True, "staging": tables_made, "rows": rows}


def stage(files: Files, to: Path, way: str, stream: str) -> Row:
    """Stage a stream's rows in one of the ways; how long that took."""
    unique = () if way == NO_KEYS else KEYS.get(stream, ())
    with patch.object(raw_files, "SHARED_TEXTS", 0) if way == ALONE else nullcontext():
        start_s = perf_counter()
        manifest = stage_files(
            files.of(stream), to / _folder_of(way), table=stream, columns=COLUMNS[stream], unique=unique,
            time="event" if way == OTHER_ORDER else "date_time",
        )  # fmt: skip
        seconds = perf_counter() - start_s
    parts = [part for column in manifest["columns"].values() for part in (column, column.get("heap")) if part]
    size = manifest["starts"]["bytes"] + sum(part["bytes"] + part["sums"]["bytes"] for part in parts)
    return {"table": stream, "way": way, "rows": manifest["rows"], "seconds": seconds, "mb": size / 1e6}


def _folder_of(way: str) -> str:
    return str(STAGED.index(way))


TablesOf = Callable[..., Tables]
"""tables_of(scope=, way=)."""


def _answer(case: Case, tables_of: TablesOf) -> Any:
    """All rows, as an Arrow table."""
    build = PROGRAMS[case.query].build
    return run(lambda scope: build(tables_of(scope=scope, way=case.system)).collect(), workers=case.workers)


def answer_of(case: Case, tables_of: TablesOf) -> list[int]:
    """The fingerprint of all rows."""
    return hashed([_answer(case, tables_of)])


def seconds_of(case: Case, tables_of: TablesOf) -> float:
    """How long a run takes."""
    start_s = perf_counter()
    _answer(case, tables_of)
    return perf_counter() - start_s


def memory_of(case: Case, tables_of: TablesOf) -> float:
    """The most memory of its own that a worker has during a run, in 10^6 bytes."""
    most = [0.0]

    def watch(pids: list[int]) -> None:
        while taken := max(anonymous_mb(pid) for pid in pids):
            most.append(taken)
            sleep(_POLL_S)

    def program(worker: Worker) -> None:
        with worker.dataflow(case.query) as scope:
            PROGRAMS[case.query].build(tables_of(scope=scope, way=case.system)).collect()
        worker.run()

    def on_start(pids: list[int]) -> None:
        Thread(target=watch, args=(pids,), daemon=True).start()

    execute(program, workers=case.workers, on_start=on_start)
    return max(most)


def summarise(outcomes: dict[Case, list[float]], memory: dict[Case, float]) -> list[Row]:
    """A row for each program, number of workers and way: seconds, how many times those of the whole, round by round."""
    return [
        {"program": case.query, "workers": case.workers, "way": case.system, "memory_mb": memory[case]}
        | {"seconds": spread(seconds) | {"all": seconds}}
        | {"over_whole": paired(seconds, outcomes[Case(WHOLE, case.query, case.workers)])}
        for case, seconds in outcomes.items()
    ]


def tables(data: dict[str, Any]) -> list[str]:
    """What each fact is worth in each program, and what staging takes."""
    asked = data["parameters"]
    left_out = "left out", "way"
    return [
        f"{asked['events']:,} events; seconds, medians of {asked['rounds']} rounds; ratios, median (least – greatest), "
        "are paired round by round, and more than 1 is what staging saves; all answers equal. Memory is the largest "
        "worker's own at its most.",
        table(
            data["rows"], ("asked", lambda row: PROGRAMS[row["program"]].said), ("workers", "workers"), left_out,
            ("s", "seconds.median"), ("times as long", "over_whole"), ("MB", "memory_mb", 1.0),
        ),
        "Staging, once, out of Parquet files; of the columns that the programs read:",
        table(
            data["staging"], ("table", "table"), left_out, ("rows", "{rows:,}"), ("MB", "mb", 1.0), ("s", "seconds"),
        ),
    ]  # fmt: skip
