"""Kills and stops of launchers, workers and children at random instants: an end, an honest one, and nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil

from scripts.storms.setting import WATCHDOG_S, Setting
from tests.crash.group import ROOT

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP)
LIBRARY = ("running", "parked", "starting", "raising", "leaving", "idle", "printing", "live")


def case(setting: Setting, random: Random) -> tuple[str, str]:
    """One process and what was done to it: in words, and what was wrong."""
    kind = random.choices(("library", "run", "profile", "stage"), (6, 6, 1, 1))[0]
    temporary = setting.new("tmp")
    temporary.mkdir()
    out = setting.new("made")
    command = _command(setting, random, kind, str(out))
    told = f"{kind} {' '.join(command[3:5])}"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    files = [setting.new("out").open("w+b") for _ in range(2)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=files[0],
        stderr=files[1],
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    )
    family = {process.pid: psutil.Process(process.pid)}
    try:
        told, wrong = _ill_treat(process, family, random, told, temporary)
    finally:  # somebody may have seen enough
        for one in family.values():
            with suppress(psutil.Error):
                one.kill()
    process.wait()
    files[1].seek(0)
    err = files[1].read().decode(errors="replace")
    for file in files:
        file.close()
    if not wrong and kind != "library" and _has_raised(err):
        wrong = f"a traceback: {err[-400:]!r}"
    status = process.returncode
    if not wrong and kind != "library" and status > 0 and err.count("tokenring: error: ") != 1:
        wrong = f"status {status}, and no one line that says why: {err[-400:]!r}"
    if not wrong and "double free" in err:
        wrong = err[-300:]
    return told, wrong


def _ill_treat(
    process: subprocess.Popen[bytes], family: dict[int, psutil.Process], random: Random, told: str, temporary: Path
) -> tuple[str, str]:
    """Signals to some of a family, and the end: what was done, in words, and what was wrong."""
    for _ in range(random.randint(1, 3)):
        _watch(process, family, random.choice((0.2, 1.0, 3.0, 6.0)) * random.random())
        victim = random.choice(sorted(family))
        number = random.choice(SIGNALS)
        told += f", {number.name} to {'the launcher' if victim == process.pid else 'a child'}"
        with suppress(psutil.Error, ProcessLookupError):
            family[victim].send_signal(number)
            if number == signal.SIGSTOP:
                time.sleep(random.random())
                family[victim].send_signal(signal.SIGCONT)
    if random.random() < 0.5 and process.poll() is None:  # of those that would go on for ever, the end
        told += ", SIGKILL to the launcher"
        process.kill()
    else:
        _watch(process, family, 0.5)
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            _watch(process, family, 0.5)
    try:
        status = process.wait(WATCHDOG_S)
        wrong = ""
    except subprocess.TimeoutExpired:
        wrong, status = "it hangs", 0
    return told, wrong or _left(process.pid, family, temporary, status)


def _has_raised(err: str) -> bool:
    """Whether there is a traceback of ours. One without a line of ours is of a signal that came while Python itself was
    starting: nobody can have it end otherwise."""
    if "Exception ignored" in err:
        return True
    return "Traceback" in err and any("tokenring/" in line for line in err.splitlines() if line.startswith('  File "'))


def _command(setting: Setting, random: Random, kind: str, out: str) -> list[str]:
    if kind == "library":
        return [sys.executable, "-m", "tests.crash.programs", random.choice(LIBRARY), random.choice("1234")]
    query = random.choice(("q1", "q4", "q7", "q3"))
    start = [sys.executable, "-m", "tokenring"]
    if kind == "stage":
        return [*start, "stage", "--out", out, "--events", "200000"]
    staged = [query, "--input", str(setting.staged), "--workers", random.choice("123")]
    pace = random.choice([[], ["--rate", "1000"], ["--rate", "100000"]])
    if kind == "profile":
        return [*start, "profile", *staged, "--out", out, "--seconds", "1"]
    return [*start, "run", *staged, *pace, "--out", f"{out}.parquet"]


def _watch(process: subprocess.Popen[bytes], family: dict[int, psutil.Process], seconds: float) -> None:
    """Let time pass, and note who is there."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                family[child.pid] = child
        if time.monotonic() >= deadline:
            return
        time.sleep(0.02)


def _left(launcher: int, family: dict[int, psutil.Process], temporary: object, status: int) -> str:
    """What outlives the launcher, after a moment."""
    deadline = time.monotonic() + WATCHDOG_S
    while time.monotonic() < deadline:
        alive = [one for one in family.values() if _lives(one)]
        segments = [name for name in os.listdir("/dev/shm") if f"tokenring-{launcher}-" in name]
        files = [] if status == -signal.SIGKILL else os.listdir(str(temporary))
        if not alive and not files and (not segments or status == -signal.SIGKILL):
            return ""
        time.sleep(0.05)
    return f"left: {[one.pid for one in alive]} {segments} {files}"


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
