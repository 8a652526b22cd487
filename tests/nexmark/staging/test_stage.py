"""Staging through Spark: the same events for any partitions, any layout of the source, any Java, and nothing left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import orjson
import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.nexmark.helpers import SECOND_NS, seal_generated, tokenring
from tests.nexmark.resident_spark import ResidentSpark
from tokenring.engine import Strings
from tokenring.nexmark.events.generator import Generator, GeneratorConfig
from tokenring.nexmark.events.schema import STREAMS
from tokenring.nexmark.staging.staged import StagedEvents

pytestmark = pytest.mark.spark

MS_NS = 1_000_000
WATCHDOG_SECONDS = 120


def test_spark_stages_what_the_generator_makes(
    shared_staged: Path, shared_config: GeneratorConfig, tmp_path: Path
) -> None:
    check = {name: STREAMS[name].integer_columns for name in STREAMS}
    staged = StagedEvents.open(shared_staged, check)
    assert staged.digest == StagedEvents.open(seal_generated(tmp_path / "alone", shared_config)).digest
    assert (staged.manifest["rate"], staged.manifest["seed"]) == (shared_config.rate, shared_config.seed)
    assert GeneratorConfig(**staged.manifest["generator"]) == shared_config
    for name, stream in STREAMS.items():
        rows = ds.dataset(staged.stream(name).parquet).to_table()
        assert rows.column_names == [*(column.name for column in stream.columns), "event"]
        assert rows.num_rows == Generator(shared_config).rows(name)
    assert (
        sorted(path.name for path in shared_staged.iterdir())
        == sorted(["manifest.json", "columns", *(f"{name}.parquet" for name in STREAMS)])
        or (shared_staged / ".oracle").is_dir()
    )


@pytest.mark.slow
def test_other_partitions_a_machine_without_java_and_an_odd_path(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shared_staged: Path,
    shared_config: GeneratorConfig,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing") + ":/usr/bin-without-java")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    # Spark's own launcher is a bash script: leave it the few tools it calls, but no java.
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in (
        "bash",
        "env",
        "dirname",
        "ps",
        "nice",
        "sh",
        "rm",
        "cat",
        "uname",
        "readlink",
        "which",
        "tr",
        "sed",
        "chmod",
    ):
        found = next((path for path in (Path("/usr/bin") / tool, Path("/bin") / tool) if path.exists()), None)
        if found is not None:
            (tools / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    out = tmp_path / "an odd, [path] {of}: Zürich" / "events"
    command = [sys.executable, "-m", "tokenring", "stage", "--out", str(out), "--events", str(shared_config.events)]
    command += ["--rate", str(shared_config.rate), "--seed", str(shared_config.seed), "--partitions", "7"]
    done = subprocess.run([*command, "--master", "local[2]"], capture_output=True, text=True, check=False)
    # No bar in a pipe, and nothing of what Spark says.
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"staged {shared_config.events:,} events (4,000 persons, ")
    assert done.stdout.count("\n") == 1
    assert StagedEvents.open(out).digest == StagedEvents.open(shared_staged).digest
    assert list(out.parent.iterdir()) == [out]
    assert len(list((out / "bid.parquet").iterdir())) > 1


# ---- foreign events: one history, told in several ways


def history() -> dict[str, list[dict[str, Any]]]:
    """Ties and gaps in time, huge and negative ids, bids without auction, equal bids; all times whole milliseconds."""
    dice = random.Random(5)
    moments = [dice.randrange(40) * MS_NS for _ in range(20)] + [10 * SECOND_NS, 10 * SECOND_NS, 3_600 * SECOND_NS]
    ids = [-(2**63), 2**63 - 1, 0, -1, *(dice.randrange(-(2**62), 2**62) for _ in range(200))]
    auctions = []
    for number in ids:
        start = dice.choice(moments)
        row = {"id": number, "initial_bid": dice.randrange(50), "reserve": dice.randrange(100), "date_time": start}
        row |= {"expires": start + dice.choice([0, 1, 40, 10_000]) * MS_NS, "seller": dice.randrange(5)}
        auctions.append(row | {"category": dice.choice([-3, 10, 2**62])})
    bids = [
        {"auction": dice.choice([*ids, 12345]), "bidder": dice.randrange(3), "price": dice.randrange(300)}
        | {"date_time": dice.choice(moments), "channel": f"c{n % 7}"}
        for n in range(3_000)
    ]
    bids += bids[:50]
    people = dice.sample(range(-9, 40), 40)
    persons = [{"id": people[n], "date_time": dice.choice(moments), "city": f"c{n % 3}"} for n in range(40)]
    return {"person": persons, "auction": auctions, "bid": bids}


def in_order(events: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The global order by definition: time, then person < auction < bid, then all columns; adds `event`."""
    keyed = []
    for name, stream in STREAMS.items():
        for row in events[name]:
            integers = [row[column] for column in stream.integer_columns]
            texts = [row.get(column) or "" for column in stream.string_columns]
            keyed.append((row["date_time"], stream.rank, integers, texts, name, row))
    keyed.sort(key=lambda entry: entry[:4])
    ordered: dict[str, list[dict[str, Any]]] = {name: [] for name in STREAMS}
    for event, entry in enumerate(keyed):
        ordered[entry[4]].append(entry[5] | {"event": event})
    return ordered


def test_foreign_events_in_three_layouts_are_the_same_events(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, resident_spark: ResidentSpark
) -> None:
    events = history()
    dice = random.Random(1)
    outs = []

    # Nanoseconds in part files, unsorted, with columns nobody asked for.
    source = tmp_path / "parts"
    for name, rows in events.items():
        (source / f"{name}.parquet").mkdir(parents=True)
        shuffled = dice.sample(rows, len(rows))
        for part in range(3):
            some = pa.Table.from_pylist([row | {"note": "x"} for row in shuffled[part::3]])
            pq.write_table(some, source / f"{name}.parquet" / f"part-{part}.parquet")
    outs.append((source, "ns"))

    # Timestamp columns of microseconds, one file each, other rows first.
    source = tmp_path / "stamps"
    source.mkdir()
    for name, rows in events.items():
        whole = pa.Table.from_pylist(dice.sample(rows, len(rows)))
        for column in STREAMS[name].columns:
            if column.kind == "time":
                at = whole.schema.get_field_index(column.name)
                stamps = whole[column.name].cast(pa.timestamp("ns")).cast(pa.timestamp("us", "UTC"))
                whole = whole.set_column(at, column.name, stamps)
        pq.write_table(whole, source / f"{name}.parquet")
    outs.append((source, "ns"))

    # JSON lines in milliseconds, all streams mixed.
    source = tmp_path / "events.jsonl"
    lines = []
    for name, rows in events.items():
        times = [column.name for column in STREAMS[name].columns if column.kind == "time"]
        lines += [orjson.dumps({name.capitalize(): row | {t: row[t] // MS_NS for t in times}}) for row in rows]
    dice.shuffle(lines)
    source.write_bytes(b"\n".join(lines))
    outs.append((source, "ms"))

    expected, digests = in_order(events), []
    for index, (origin, unit) in enumerate(outs):
        out = tmp_path / f"out{index}"
        with resident_spark.at_hand() if unit == "ns" else nullcontext():  # one in a process of its own, as it is
            outcome = tokenring(capsys, "stage", "--out", out, "--from", origin, "--time-unit", unit)
        assert (outcome.status, outcome.err) == (0, "")
        staged = StagedEvents.open(out, {name: [*STREAMS[name].integer_columns, "event"] for name in STREAMS})
        for name, stream in STREAMS.items():
            for column in (*stream.integer_columns, "event"):
                values = staged.stream(name).column(column).tolist()
                assert values == [row[column] for row in expected[name]], (origin, name, column)
            for column in stream.string_columns:
                texts = Strings(staged.stream(name).column(column), staged.stream(name).heap(column))
                assert texts.tolist() == [row.get(column) for row in expected[name]], (origin, name, column)
            assert not staged.stream(name).has("floor")
        rows = ds.dataset(staged.stream("person").parquet).to_table()
        assert rows["city"].to_pylist() == [row["city"] for row in expected["person"]]
        assert rows["event"].to_pylist() == [row["event"] for row in expected["person"]]
        digests.append(staged.digest)
    assert len(set(digests)) == 1


@pytest.mark.usefixtures("spark")
def test_no_events_at_all_and_staging_a_staged_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    for name in ("bid", "auction"):
        names = [column.name for column in STREAMS[name].columns if column.required]
        pq.write_table(pa.table({column: pa.array([], pa.int64()) for column in names}), source / f"{name}.parquet")
    assert tokenring(capsys, "stage", "--out", tmp_path / "none", "--from", source).status == 0
    assert [StagedEvents.open(tmp_path / "none").stream(name).rows for name in STREAMS] == [0, 0, 0]

    mixed = GeneratorConfig(events=20_000, seed=2, out_of_order_group_size=100)
    seal_generated(tmp_path / "mixed", mixed)
    assert tokenring(capsys, "stage", "--out", tmp_path / "none", "--from", tmp_path / "mixed", "--force").status == 0
    ordered = seal_generated(tmp_path / "ordered", GeneratorConfig(events=20_000, seed=2))
    assert StagedEvents.open(tmp_path / "none").digest == StagedEvents.open(ordered).digest


# ---- ended half-way


def wait_for(happened: Any, what: str) -> None:
    deadline = time.monotonic() + WATCHDOG_SECONDS
    while not happened():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.05)


def session_processes(leader: int) -> list[psutil.Process]:
    """The JVM and Python workers of the stage: all that descends from it."""
    try:
        return psutil.Process(leader).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_stage_that_is_ended_leaves_nothing_that_passes_for_staged(tmp_path: Path, number: int, status: int) -> None:
    out = tmp_path / "events"
    command = [sys.executable, "-m", "tokenring", "stage", "--out", str(out), "--events", "20000000"]
    stage = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        # Well under way: Spark is writing a stream.
        wait_for(lambda: stage.poll() is not None or list(tmp_path.glob(".tokenring-*/*.parquet")), "Spark to write")
        assert stage.poll() is None
        family = session_processes(stage.pid)
        assert any("java" in process.name() for process in family)
        os.kill(stage.pid, number)
        out_text, error = stage.communicate(timeout=WATCHDOG_SECONDS)
    finally:
        if stage.poll() is None:
            stage.kill()
            stage.communicate()
    assert (stage.returncode, out_text) == (status, "")
    assert error.count("\n") == (0 if number == signal.SIGKILL else 1)
    wait_for(lambda: not any(process.is_running() for process in family), "Spark's processes to end")
    assert not out.exists()
    if number == signal.SIGKILL:
        assert len(list(tmp_path.iterdir())) == 1
        from tokenring.engine.group import remove_leftovers

        remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_killed_jvm_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tokenring", "stage", "--out", str(tmp_path / "events"), "--events", "20000000"]
    stage = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: stage.poll() is not None or list(tmp_path.glob(".tokenring-*/*.parquet")), "Spark to write")
        [jvm] = [process for process in session_processes(stage.pid) if "java" in process.name()]
        jvm.kill()
        out_text, error = stage.communicate(timeout=WATCHDOG_SECONDS)
    finally:
        if stage.poll() is None:
            stage.kill()
            stage.communicate()
    assert (stage.returncode, out_text) == (1, "")
    assert error.startswith("tokenring: error: Spark failed in tokenring.nexmark.spark.jobs.generate")
    assert "Spark's JVM ended with status -9" in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
