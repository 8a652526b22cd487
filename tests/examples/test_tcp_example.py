"""examples/tcp_windows.py against a real server: until Ctrl-C it counts what it received, all of it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pytest

from tests.copies import Copy
from tests.duck import answer
from tests.examples.documents import without_compiling
from tests.examples.programs import FOLDER, WATCHDOG_S, main_of
from tests.imports import ROOT

FINISHING = "finishing: sources close, and what is under way is finished; again to end at once\n"
WINDOW = re.compile(r"(\S+) (\w+): (\d+) reading\(s\), (\d+)")
PROGRAM = FOLDER / "tcp_windows.py"
ROWS = 500_000
BEGIN, STEP = datetime(2026, 3, 1), timedelta(milliseconds=10)


def readings(begin: int, end: int) -> pd.DataFrame:
    """Those of these numbers."""
    number = np.arange(begin, end)
    sensor = np.array(["s0", "s1", "s2"], object)[number % 3]
    return pd.DataFrame({"at": np.datetime64(BEGIN, "ms") + number * 10, "sensor": sensor, "value": number * 7 % 101})


def sent(begin: int, end: int) -> bytes:
    """The same, a line each."""
    lines = [
        f"{(BEGIN + number * STEP).isoformat()},s{number % 3},{number * 7 % 101}\n" for number in range(begin, end)
    ]
    return "".join(lines).encode()


@contextmanager
def sending(server: socket.socket) -> Iterator[None]:
    """A server sends the readings to whoever connects, a few at a time, for ever."""
    closed = threading.Event()

    def serve() -> None:
        with suppress(OSError):  # the program has gone
            connection, _ = server.accept()
            with connection:
                for at in range(0, ROWS, 37):
                    text = sent(at, min(at + 37, ROWS))
                    connection.sendall(text[:100])  # lines are cut anywhere
                    closed.wait(0.004)
                    connection.sendall(text[100:])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        closed.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


Start = Callable[[Sequence[str | Path], IO[str], IO[str]], "subprocess.Popen[str] | Copy"]


def start(arguments: Sequence[str | Path], out: IO[str], err: IO[str]) -> subprocess.Popen[str] | Copy:
    """A process of Python."""
    return subprocess.Popen(
        [sys.executable, *arguments], env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=err, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def start_again(arguments: Sequence[str | Path], out: IO[str], err: IO[str]) -> subprocess.Popen[str] | Copy:
    """A copy of this process."""
    return Copy(main_of(PROGRAM), arguments, ROOT, FOLDER, out, err)


def stopped_by_hand(begin: Start, *options: str, windows: int) -> tuple[int, list[tuple[str, str, int, int]]]:
    """Run the example until it has printed some windows, then press Ctrl-C; how many rows it received, its windows."""
    reading, writing = os.pipe()
    with (
        os.fdopen(reading) as printed,
        tempfile.TemporaryFile("w+") as errors,
        socket.create_server(("localhost", 0)) as server,
    ):
        with os.fdopen(writing, "w") as out:
            port = server.getsockname()[1]
            program = begin([PROGRAM, "localhost", str(port), *options], out, errors)
        watchdog = threading.Timer(WATCHDOG_S, program.kill)
        watchdog.start()
        with sending(server):
            first = [printed.readline() for _ in range(windows)]
            program.send_signal(signal.SIGINT)
            rest = printed.read()
            status = program.wait()
        watchdog.cancel()
        errors.seek(0)
        said = errors.read()
    assert (status, without_compiling(said)) == (0, FINISHING)
    *lines, last = ("".join(first) + rest).splitlines()
    found = [WINDOW.fullmatch(line) for line in lines]
    received = re.fullmatch(r"received: (\d+) reading\(s\)", last)
    assert all(found) and received, lines
    return int(received[1]), [(row[1], row[2], int(row[3]), int(row[4])) for row in found if row]


def of_duckdb(query: str, received: int) -> list[tuple[object, ...]]:
    assert received <= ROWS
    return answer(query, readings=readings(0, received))


@pytest.mark.parametrize(("workers", "begin"), [("1", start), ("2", start_again)])
def test_windows_of_the_readings_own_times(workers: str, begin: Start) -> None:
    received, windows = stopped_by_hand(begin, "--workers", workers, windows=20)
    query = """
        select strftime(time_bucket(interval 5 seconds, "at"), '%H:%M:%S') as begin, sensor, count(*), sum(value)::int
        from readings group by all order by all
    """
    assert sorted(windows) == of_duckdb(query, received)
    assert sum(count for *_, count, _ in windows) == received


@pytest.mark.parametrize("workers", ["1", "2"])
def test_windows_of_the_times_at_which_they_came(workers: str) -> None:
    received, windows = stopped_by_hand(start_again, "--workers", workers, "--arrival", "--every", "1s", windows=7)
    assert len({begin for begin, *_ in windows}) >= 3, "the first were over before Ctrl-C"
    found = pd.DataFrame(windows, columns=["begin", "sensor", "count", "total"])
    by_sensor = found.groupby("sensor")[["count", "total"]].sum()
    query = "select sensor, count(*), sum(value)::int from readings group by all order by all"
    assert list(by_sensor.itertuples(name=None)) == of_duckdb(query, received)
