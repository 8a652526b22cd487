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

from scripts.benchmarks.earlier import unpack_commit
from scripts.benchmarks.measure import (
    ROOT,
    input_option,
    json_option,
    queries_option,
    rounds_option,
    spread,
    take_turns,
    write_json,
)
from scripts.benchmarks.memory import anonymous_mb
from scripts.benchmarks.render import render
from tokenring.engine import Config, InputPort, Notify, Schema, Worker, execute
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.measure import anonymous_mb as own_mb
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.operators import Count, Throttle, Tumbling, aggregate, from_generator
from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system.files import require_writable

LONG = ("q4", "q7", "q18", "q20")
_POLL_S = 0.002
_LONGEST_RUN_S = 600
_KEYS_SCHEMA = Schema("at key")
_BATCH_KEYS = 6000  # two windows of them are three quarters of a table: of 8,192 they fill it, or not, by chance
_BATCHES_A_WINDOW = 8


@click.command(cls=ListCommand)
@input_option
@click.option("--workers", type=click.IntRange(1, 512), default=2, show_default=True, help="Worker processes.")
@click.option(
    "--events", "sizes", type=click.IntRange(1), nargs=2, default=(2_000_000, 10_000_000), show_default=True,
    help="The fewer and the more events, between which memory grows by the state of those that are more.",
)  # fmt: skip
@queries_option
@click.option("--commit", metavar="REV", help="Measure this earlier commit beside.")
@click.option(
    "--long", "long_events", type=click.IntRange(1), metavar="N",
    help=f"Run {', '.join(LONG)} over so many events, too, and compare their memory with what is foretold.",
)  # fmt: skip
@click.option(
    "--keys", "keys_s", type=click.FloatRange(0, 1e5), default=60.0, show_default=True,
    help="Seconds for which keys that never come again are counted under tumbling windows; 0: not at all.",
)  # fmt: skip
@rounds_option
@json_option
def command(
    input_folder: Path, workers: int, sizes: tuple[int, int], queries: tuple[str, ...], commit: str | None,
    long_events: int | None, keys_s: float, rounds: int, json_file: Path,
) -> None:  # fmt: skip
    """Bytes of state an event.

    Each run is a process group of its own. Its workers' own memory (RssAnon: neither mapped columns nor shared
    segments) is watched; the greatest sum counts. What it grows by with more events, divided by how many they are, is
    what an event leaves.
    """
    require_writable(json_file)
    fewer, more = sizes
    if fewer >= more:
        raise OptionError("--events takes the fewer events first, then more")
    staged = StagedEvents.open(input_folder)
    if staged.events < max(more, long_events or 0):
        raise OptionError(f"{input_folder} holds {staged.events:,} events; ask for fewer, or stage more")
    folder = str(input_folder.resolve())
    asked = tuple(dict.fromkeys([*queries, *(LONG if long_events else ())]))
    with tempfile.TemporaryDirectory(prefix="tokenring-state-") as scratch:
        trees = [ROOT]
        number = None
        if commit is not None:
            trees.append(Path(scratch))
            number = unpack_commit(commit, trees[1])
        for tree in trees:
            warm_up = [sys.executable, "-m", "tokenring", "warm-up"]  # or the first run has the compiler's memory
            subprocess.run(warm_up, cwd=tree, check=True, stdout=subprocess.DEVNULL)
        cases = [(query, events, tree) for query in asked for events in sizes for tree in trees]
        peaks = take_turns(
            "state", cases, rounds, lambda case: peak_mb(case[2], case[0], folder, case[1], workers), warm_up=False
        )
    found = dict(zip(cases, peaks, strict=True))
    rows = [
        {
            "query": query,
            "mb": spread(found[query, more, ROOT]),
            "bytes": grown(found[query, fewer, ROOT], found[query, more, ROOT], more - fewer),
            "bytes_before": None
            if number is None
            else grown(found[query, fewer, trees[1]], found[query, more, trees[1]], more - fewer),
        }
        for query in asked
    ]
    figures: dict[str, Any] = {"rows": rows, "long": [], "keys": None}
    if long_events is not None:
        for row in rows:
            if row["query"] in LONG:
                taken = peak_mb(ROOT, row["query"], folder, long_events, workers)
                figures["long"].append(foretold(row, more, long_events, taken))
    if keys_s:
        figures["keys"] = {"seconds": keys_s, **flatness(never_repeated(lasting(keys_s), workers))}
    parameters = {
        "workers": workers, "events": list(sizes), "rounds": rounds, "commit": number, "long_events": long_events,
        "staged_rate": staged.manifest.get("rate"), "seed": staged.manifest.get("seed"),
    }  # fmt: skip
    click.echo(render(write_json(json_file, "state", parameters, figures)))


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
        if run.returncode != 0:
            told.seek(0)
            raise CommandError(f"{' '.join(command)} in {tree} failed: {told.read().decode(errors='replace')[-500:]}")
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
                    samples.append(own_mb())

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
