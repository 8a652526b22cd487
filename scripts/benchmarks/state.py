"""`benchmark state`: the bytes of state that each query keeps for an event, a long run as they foretell it, and whether
keys that never come again leave nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from scripts.benchmarks.earlier import unpack_commit, warm_up
from scripts.benchmarks.measure import (
    ASKED,
    GROUP,
    INPUT,
    ROOT,
    ROUNDS,
    Found,
    benchmark,
    of_events,
    opened,
    require_done,
)
from tokenring.engine import Config, InputPort, Notify, Schema, Worker, execute
from tokenring.nexmark.bench.parts import figure, option, spread, table, take_turns
from tokenring.nexmark.measure import anonymous_mb
from tokenring.operators import Count, Throttle, Tumbling, aggregate, from_generator
from tokenring.tools.errors import CommandError, OptionError

LONG = ("q4", "q7", "q18", "q20")
_POLL_S = 0.002
_LONGEST_RUN_S = 600
_KEYS_SCHEMA = Schema("at key")
_BATCH_KEYS = 6000  # two windows of them are three quarters of a table: of 8,192 they fill it, or not, by chance
_BATCHES_A_WINDOW = 8


@benchmark(
    INPUT, GROUP,
    option(
        "--events FEWER MORE", click.IntRange(1),
        "The fewer and the more events, between which memory grows by the state of those that are more.",
        (2_000_000, 10_000_000), "sizes", nargs=2,
    ),
    ASKED,
    option("--commit REV", None, "Measure this earlier commit beside."),
    option(
        "--long N", click.IntRange(1),
        f"Run {', '.join(LONG)} over so many events, too, and compare their memory with what is foretold.",
        to="long_events",
    ),
    option(
        "--keys S", click.FloatRange(0, 1e5),
        "Seconds for which keys that never come again are counted under tumbling windows; 0: not at all.",
        60.0, "keys_s",
    ),
    ROUNDS,
)  # fmt: skip
def command(
    folder: Path, workers: int, sizes: tuple[int, int], queries: tuple[str, ...], commit: str | None,
    long_events: int | None, keys_s: float, rounds: int,
) -> Found:  # fmt: skip
    """Bytes of state an event.

    Each run is a process group of its own. Its workers' own memory (RssAnon: neither mapped columns nor shared
    segments) is watched; the greatest sum counts. What it grows by with more events, divided by how many they are, is
    what an event leaves.
    """
    fewer, more = sizes
    if fewer >= more:
        raise OptionError("--events takes the fewer events first, then more")
    staged, events = opened(folder)
    if events < max(more, long_events or 0):
        raise OptionError(f"{folder} holds {events:,} events; ask for fewer, or stage more")
    read = str(folder.resolve())
    asked = tuple(dict.fromkeys([*queries, *(LONG if long_events else ())]))
    with tempfile.TemporaryDirectory(prefix="tokenring-state-") as scratch:
        before = Path(scratch)
        number = None if commit is None else unpack_commit(commit, before)
        trees = [ROOT, *([] if number is None else [before])]
        for tree in trees:
            warm_up(tree)  # or the first run has the compiler's memory
        cases = [(query, count, tree) for query in asked for count in sizes for tree in trees]
        found = take_turns(
            "state", cases, rounds, lambda case: peak_mb(case[2], case[0], read, case[1], workers), warm_up=False
        )
    rows = []
    for query in asked:
        bytes_of = [grown(found[query, fewer, tree], found[query, more, tree], more - fewer) for tree in trees]
        rows.append(
            {
                "query": query,
                "mb": spread(found[query, more, ROOT]),
                "bytes": bytes_of[0],
                "bytes_before": None if number is None else bytes_of[1],
            }
        )
    figures: dict[str, Any] = {"rows": rows, "long": [], "keys": None}
    if long_events is not None:
        for row in rows:
            if row["query"] in LONG:
                taken = peak_mb(ROOT, row["query"], read, long_events, workers)
                figures["long"].append(foretold(row, more, long_events, taken))
    if keys_s:
        figures["keys"] = {"seconds": keys_s, **flatness(never_repeated(lasting(keys_s), workers))}
    parameters = of_events(staged, 0, rounds) | {"workers": workers, "events": list(sizes), "commit": number}
    return parameters | {"long_events": long_events}, figures


def peak_mb(tree: Path, query: str, folder: str, events: int, workers: int) -> float:
    """The most memory of their own that a run's workers had together, in 10^6 bytes."""
    command = [sys.executable, "-m", "tokenring", "run", query, "--input", folder, "--events", str(events)]
    command += ["--workers", str(workers), "--json", "-"]
    peak, end_s = 0.0, time.monotonic() + _LONGEST_RUN_S
    with tempfile.TemporaryFile() as told:
        run = subprocess.Popen(command, cwd=tree, stdout=subprocess.DEVNULL, stderr=told)
        try:
            while run.poll() is None:
                if time.monotonic() > end_s:
                    raise CommandError(f"{' '.join(command)} in {tree} takes more than {_LONGEST_RUN_S} s")
                peak = max(peak, sum([anonymous_mb(pid) for pid in _children(run.pid)]))
                time.sleep(_POLL_S)
        finally:
            run.kill()
            run.wait()
        told.seek(0)
        require_done(run.returncode, told.read(), f"{' '.join(command)} in {tree}")
    return peak


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def grown(fewer_mb: list[float], more_mb: list[float], events: int) -> dict[str, float]:
    """Bytes an event, round by round; what is less than nothing is the machine's doing, and nothing."""
    return spread(max(0.0, (more - fewer) * 1e6 / events) for fewer, more in zip(fewer_mb, more_mb, strict=True))


def foretold(row: dict[str, Any], events: int, long_events: int, taken_mb: float) -> dict[str, Any]:
    """A long run's memory beside what the row of the table foretells of it."""
    expected = row["mb"]["median"] + row["bytes"]["median"] * (long_events - events) / 1e6
    return {"query": row["query"], "expected_mb": expected, "mb": taken_mb, "ratio": taken_mb / expected}


def lasting(seconds: float) -> Callable[[int], bool]:
    """Whether there is time for one more, from when it is asked first."""
    end_s = None

    def goes_on(_: int) -> bool:
        nonlocal end_s
        end_s = time.monotonic() + seconds if end_s is None else end_s
        return time.monotonic() < end_s

    return goes_on


def never_repeated(goes_on: Callable[[int], bool], workers: int) -> list[list[float]]:
    """Count keys that never come again under tumbling windows, batch after batch while it `goes_on`; returns each
    worker's own memory (10^6 bytes) at the end of each window."""

    def program(worker: Worker) -> list[float]:
        samples: list[float] = []

        def batches(index: int, peers: int) -> Iterator[dict[str, np.ndarray]]:
            number = 0
            while goes_on(number):
                first = (number * peers + index) * _BATCH_KEYS
                keys = np.arange(first, first + _BATCH_KEYS)
                yield {"at": np.full(_BATCH_KEYS, number), "key": keys}
                number += 1
                if number % _BATCHES_A_WINDOW == 0:
                    samples.append(anonymous_mb())

        def take_all(port: InputPort) -> None:
            for _ in port:
                pass

        throttle = Throttle(_BATCHES_A_WINDOW)  # workers go together, so that two windows are open at most
        with worker.dataflow("keys") as scope:
            rows = from_generator(scope, _KEYS_SCHEMA, batches, time="at", throttle=throttle)
            counts = aggregate(rows, "key", window=Tumbling("at", _BATCHES_A_WINDOW), rows=Count())
            throttle.watch(counts.sink("taken", lambda _: take_all, notify=Notify.NEVER))
        worker.run()
        return samples

    return execute(program, config=Config(workers=workers))


def flatness(samples: list[list[float]]) -> dict[str, float]:
    """Memory of all workers in the second quarter of the run and in the last, medians, and by what share it grew."""
    length = min(map(len, samples))
    if not length:
        raise CommandError("no window was full before the end; let the keys come for longer")
    together = np.array([worker[:length] for worker in samples]).sum(axis=0)
    quarter = max(1, length // 4)
    warm, end = float(np.median(together[quarter : 2 * quarter])), float(np.median(together[-quarter:]))
    return {"windows": length, "warm_mb": warm, "end_mb": end, "grown": end / warm - 1}


def tables(data: dict[str, Any]) -> list[str]:
    """Bytes an event for each query, the long runs, and the keys that never come again."""
    asked, before = data["parameters"], data["parameters"]["commit"]
    fewer, more = asked["events"]
    columns = [("query", "query"), ("bytes of state an event", "bytes.median")]
    columns += [] if before is None else [(f"at {before}", "bytes_before.median")]
    parts = [
        f"What the workers' own memory grows by from {fewer:,} to {more:,} events, a closed loop, {asked['workers']} "
        f"worker(s); medians of {asked['rounds']} rounds. Below some 2 bytes is what does not belong to events.",
        table(data["rows"], *columns, (f"MB in all after {more:,}", "mb.median")),
    ]
    if data["long"]:
        parts += [
            f"{asked['long_events']:,} events, beside what the table foretells:",
            table(data["long"], ("query", "query"), ("MB", "mb"), ("foretold", "expected_mb"), ("ratio", "ratio")),
        ]
    keys = data["keys"]
    if keys is not None:
        parts.append(
            f"Keys that never come again, counted under tumbling windows for {keys['seconds']:.0f} s "
            f"({keys['windows']:,} windows): {figure(keys['warm_mb'])} MB when warm, {figure(keys['end_mb'])} MB at "
            f"the end, {keys['grown']:+.2%}."
        )
    return parts
