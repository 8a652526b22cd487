"""`tokenring bench` as a person calls it: rows of tiny sweeps, files, failures, interruption, misuse."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.imports import ROOT
from tests.nexmark.helpers import Outcome, seal_generated, tokenring
from tokenring.engine import WorkerError
from tokenring.engine.worker.config import usable_cores
from tokenring.nexmark.bench import sizes
from tokenring.nexmark.bench.experiments import SOURCES, tails, wordcount
from tokenring.nexmark.bench.experiments import nexmark as queries
from tokenring.nexmark.bench.parts import points
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.measure import verdict
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run import runner
from tokenring.operators.mechanisms import MECHANISMS

EVENTS = 30_000
SOURCED = ("wordcount", "scaling", "nexmark")
LATENCIES = {"p50_ms", "p99_ms", "p999_ms", "max_ms", "dnf", "verdict", "slope", "seconds", "oversubscribed"}
KEYS = {
    "wordcount": {"quantum_log2", "rate", "workers", "mechanism", "source"} | LATENCIES,
    "scaling": {"quantum_log2", "rate_per_worker", "rate", "workers", "mechanism", "source"} | LATENCIES,
    "chain": {"operators", "workers", "mechanism", "p50_ms", "p99_ms"},
    "nexmark": {"query", "rate", "workers", "mechanism", "source"} | LATENCIES,
}


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("bench") / "events", GeneratorConfig(EVENTS, rate=2_000, seed=5))


@pytest.fixture(autouse=True)
def short_hiccup_meters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "HICCUP_S", 0.02)
    monkeypatch.setattr(tails, "HICCUP_S", 0.02)


@pytest.fixture
def each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of a large sweep are not measured for longer until it is decided whether they hold."""
    monkeypatch.setattr(verdict, "LONGEST", 1)


Bench = Callable[..., tuple[Outcome, dict[str, Any]]]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Bench:
    """Runs `tokenring bench` with the words of one text; returns how it ended and the JSON object it wrote, into a
    file or, so that no plot is drawn, a pipe."""

    def run(text: str, *more: str | Path, plots: bool = False) -> tuple[Outcome, dict[str, Any]]:
        if plots:
            file = tmp_path / "figures.json"
            outcome = tokenring(capsys, "bench", *text.split(), *more, "--json", file)
            return outcome, orjson.loads(file.read_bytes()) if file.exists() else {}
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)  # all of it fits
        with os.fdopen(reading, "rb") as told:
            with os.fdopen(writing, "wb"):
                outcome = tokenring(capsys, "bench", *text.split(), *more, "--json", f"/dev/fd/{writing}")
            written = told.read()
        return outcome, orjson.loads(written) if written else {}

    return run


def _is_whole(outcome: Outcome, data: dict[str, Any], experiment: str) -> None:
    assert outcome.status == 0, outcome
    assert outcome.err == ""  # no progress in a pipe
    assert data["benchmark"] == f"bench-{experiment}"
    assert data["complete"] is True
    assert {"processor", "cores", "python", "commit"} <= data["machine"].keys()
    for row in data["rows"]:
        assert row.keys() >= KEYS[experiment]
        assert row["error"] is None
        if not row.get("dnf"):
            assert 0 < row["p50_ms"] <= row["p99_ms"]


# What each gives


@pytest.mark.slow
def test_word_count_under_every_mechanism(
    bench: Bench, tmp_path: Path, each_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meters(workers: int, seconds: float) -> list[dict[str, float]]:
        return [{"max": 5.0 + index, "p999": 5.0 - index, "lost_share": 0.0} for index in range(workers)]

    monkeypatch.setattr(tails, "hiccups_ms", meters)
    options = "--quantum-log2 8 20 --rate 40000 --workers 1 2 --duration 0.1 --source each-time"
    outcome, data = bench(f"wordcount {options}", plots=True)
    _is_whole(outcome, data, "wordcount")
    names = ("source", "quantum_log2", "rate", "workers", "mechanism")
    found = [{name: row[name] for name in names} for row in data["rows"]]
    sweep = {"quantum_log2": (8, 20), "rate": (40_000,), "workers": (1, 2), "mechanism": MECHANISMS}
    assert found == points(source=("each-time",), **sweep)
    for row in data["rows"]:
        assert row["words"] == 4_000 or row["dnf"]
        worst = row["hiccup_max_ms"], row["hiccup_p999_ms"]
        assert worst == (4.0 + row["workers"], 5.0), "of all workers' meters"
        if row["quantum_log2"] == 20 and not row["dnf"]:
            # Nothing is done before its time is over, half a quantum later on average.
            assert row["p50_ms"] > 0.25
            assert row["p50_after_quantum_ms"] <= row["p50_ms"]  # they may share a bin where both are large
    assert outcome.out.startswith("Measured ")
    assert "| 40 k/s | 2 | 2^20 ns |" in outcome.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "figures.md", "figures.svg"]


@pytest.mark.slow
def test_a_load_that_grows_with_the_workers(bench: Bench) -> None:
    options = "--quantum-log2 20 --rate-per-worker 6000 --workers 1 3 --mechanism tokens notifications"
    outcome, data = bench(f"scaling {options} --source batched each-time --duration 0.1", plots=True)
    _is_whole(outcome, data, "scaling")
    assert [(row["source"], row["mechanism"], row["workers"], row["rate"]) for row in data["rows"]] == [
        ("batched", "tokens", 1, 6e3), ("batched", "notifications", 1, 6e3),
        ("batched", "tokens", 3, 18e3), ("batched", "notifications", 3, 18e3),
        ("each-time", "tokens", 1, 6e3), ("each-time", "tokens", 3, 18e3),
    ]  # fmt: skip
    for row in data["rows"]:  # up to four times the seconds, until it is told
        assert row["words"] in [times * 600 * row["workers"] for times in (1, 2, 4)] or row["dnf"]
    assert all(row["oversubscribed"] == (row["workers"] > len(usable_cores())) for row in data["rows"])


@pytest.mark.slow
def test_ticks_through_a_chain_under_every_mechanism(bench: Bench) -> None:
    outcome, data = bench("chain --operators 2 5 --workers 1 2 --duration 0.1", plots=True)
    _is_whole(outcome, data, "chain")
    assert [(row["operators"], row["workers"]) for row in data["rows"][::5]] == [(2, 1), (2, 2), (5, 1), (5, 2)]
    assert {row["mechanism"] for row in data["rows"]} == set(MECHANISMS)
    assert all(row["ticks"] > 1 for row in data["rows"])


def test_many_idle_dataflows(tmp_path: Path) -> None:
    """As it is typed: of a copy of the test's process, others have their parts of what is shared as well."""
    words = "idle --dataflows 3 --operators 1 20 --workers 1 2 --steps 5 --json".split()
    command = [sys.executable, "-m", "tokenring", "bench", *words, tmp_path / "figures.json"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert outcome.returncode == 0, outcome
    data = orjson.loads((tmp_path / "figures.json").read_bytes())
    assert [(row["dataflows"], row["operators"], row["workers"]) for row in data["rows"]] == [
        (3, 1, 1), (3, 1, 2), (3, 20, 1), (3, 20, 2)
    ]  # fmt: skip
    for row in data["rows"]:
        assert all(row[name] > 0 for name in ("step_ms", "build_s", "settle_s", "peak_rss_mb"))
        assert row["group_mb"] > row["peak_rss_mb"] / 2, "the launcher too; of what is shared each has its part"
        assert row["operator_kind"] == "real"
    assert "| 3 | 20 | real | 2 |" in outcome.stdout


def test_idle_operators_of_every_kind(bench: Bench) -> None:
    options = "idle --dataflows 2 --operators 40 --operator-kind always fused real --workers 1 --steps 4"
    _, data = bench(options, plots=True)
    rows = {row["operator_kind"]: row for row in data["rows"]}
    assert list(rows) == ["always", "fused", "real"]
    assert not any(row["error"] for row in rows.values())
    assert [row["rows_out"] for row in rows.values()] == [2 * row["steps"] for row in rows.values()]


@pytest.mark.parametrize("asked", [("q4",), pytest.param(("q7", "q4"), marks=pytest.mark.slow)])
def test_queries_over_staged_events(bench: Bench, staged: Path, each_once: None, asked: tuple[str, ...]) -> None:
    options = f"nexmark --query {' '.join(asked)} --rate 5000 --workers 2 --duration 0.1"
    outcome, data = bench(options, "--input", staged, plots=True)
    _is_whole(outcome, data, "nexmark")
    assert [(row["source"], row["query"], row["mechanism"]) for row in data["rows"]] == [
        *(("each-time", query, way) for query in asked for way in QUERIES[query].mechanisms),
        *(("batched", query, way) for query in asked for way in ("tokens", "watermarks-X")),
    ]
    assert all(row["events"] == 500 or row["dnf"] for row in data["rows"])
    assert "NEXMark Q4:" in outcome.out


def test_events_are_staged_where_none_are_given(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def without_spark(out: Path, config: GeneratorConfig, **_: Any) -> None:
        made.append(seal_generated(out, config))

    monkeypatch.setattr(queries, "stage_generated", without_spark)
    options = "--rate 20000 --workers 1 --mechanism tokens --source batched --duration 0.2"
    outcome, data = bench(f"nexmark --query q7 {options}")
    _is_whole(outcome, data, "nexmark")
    assert data["rows"][0]["events"] == 4_000  # there are no more to go on with
    assert not made[0].exists()  # gone with the command


def test_all_of_them(
    bench: Bench, staged: Path, each_once: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {
        "wordcount": {"quantum_log2": (8,), "rate": (2e3,), "duration": 0.1, "mechanism": ("tokens",)},
        "scaling": {"quantum_log2": (8,), "duration": 0.1, "mechanism": ("tokens",)},
        "chain": {"operators": (2,), "duration": 0.1, "mechanism": ("tokens",)},
        "idle": {"sizes": ((2, 3),), "operator_kind": ("real",), "workers": (1,), "steps": 2},
        "nexmark": {"query": ("q7", "q4"), "rate": (1e4,), "duration": 0.1, "mechanism": ("tokens",)},
    }
    for name, sweep in tiny.items():
        monkeypatch.setitem(sizes.QUICK, name, sweep | {"source": ("batched",)} if name in SOURCED else sweep)
    outcome, data = bench("all --quick --workers 1 --input", staged, plots=True)
    assert outcome.status == 0, outcome
    assert [row["experiment"] for row in data["rows"]] == [*tiny, "nexmark"]
    assert [row["query"] for row in data["rows"][-2:]] == ["q7", "q4"]
    plots = {f"figures-{name}.svg" for name in tiny}
    assert {path.name for path in tmp_path.iterdir()} == {"figures.json", "figures.md"} | plots
    assert all(f"({name})" in (tmp_path / "figures.md").read_text() for name in plots)


def test_json_alone_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    options = "chain --operators 2 --workers 1 --mechanism tokens --duration 0.1 --json -"
    outcome = tokenring(capsys, "bench", *options.split())
    assert outcome.status == 0
    assert len(orjson.loads(outcome.out)["rows"]) == 1


# What goes wrong


def test_a_load_that_nobody_holds_is_a_dnf(bench: Bench) -> None:
    options = "--rate 1e11 --workers 1 --mechanism tokens --source batched --duration 60"
    outcome, data = bench(f"wordcount --quantum-log2 8 {options}")
    assert outcome.status == 0  # a result like any other
    (row,) = data["rows"]
    assert row["dnf"] is True
    assert [row[name] for name in ("p50_ms", "p99_ms", "p999_ms", "max_ms")] == [None] * 4
    assert "| 100000 M/s | 1 | 2^8 ns | DNF |" in outcome.out


WORDS = "wordcount --quantum-log2 8 9 10 --rate 1000 --workers 1 --mechanism tokens --source batched --duration 0.1"


def _fails_at(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second point of WORDS ends in this."""
    run = wordcount._run

    def failing(point: dict[str, Any], duration_s: float) -> dict[str, Any]:
        if point["quantum_log2"] == 9:
            raise error
        return run(point, duration_s)

    monkeypatch.setattr(wordcount, "_run", failing)


def test_a_point_that_fails_is_named_and_the_rest_is_measured(
    bench: Bench, each_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fails_at(WorkerError("worker 0 was killed by signal 9"), monkeypatch)
    outcome, data = bench(WORDS)
    assert outcome.status == 1
    assert outcome.err == "tokenring: 1 of 3 points failed\n"
    assert [row["error"] for row in data["rows"]] == [None, "WorkerError: worker 0 was killed by signal 9", None]
    assert [row["p50_ms"] is None for row in data["rows"]] == [False, True, False]
    assert data["rows"][1].keys() >= KEYS["wordcount"]
    assert "quantum_log2 9, rate 1000.0, workers 1, mechanism tokens, source batched: WorkerError" in outcome.out


def test_an_interrupted_sweep_keeps_what_it_has_and_says_so(
    bench: Bench, each_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fails_at(KeyboardInterrupt(), monkeypatch)
    outcome, data = bench(WORDS)
    assert outcome.status == 130
    assert outcome.err == "tokenring: error: interrupted\n"
    assert data["complete"] is False
    assert [row["quantum_log2"] for row in data["rows"]] == [8]
    assert "Incomplete" in outcome.out


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("wordcount --quantum-log2 29", "--quantum-log2"),
        ("wordcount --quantum-log2 8 x", "--quantum-log2"),
        ("wordcount --rate 1e6 nan", "--rate"),
        ("wordcount --rate 0", "--rate"),
        ("wordcount --mechanism tokens luck", "'luck' is not one of 'tokens'"),
        ("wordcount --workers 0", "--workers"),
        ("wordcount --duration inf", "--duration"),
        ("migration --plan fluid bogus", "--plan: there is no plan 'bogus'; plans are"),
        ("wordcount 8", "unexpected extra argument"),
        ("chain --operators 0", "--operators"),
        ("idle --dataflows 0", "--dataflows"),
        ("idle --steps 0", "--steps"),
        ("nexmark --mechanism watermarks-P", "--mechanism"),
        ("nexmark --query q5", "--query"),
        ("nexmark --input {none}", "no such folder"),
        ("nexmark --input {staged} --rate 1e6 --duration 3", "stage more"),
        ("wordcount --json {none}/x.json", "--json"),
        ("wordcount --json {none}.svg", "name it .json"),
        ("sort", "sort"),
    ],
)
def test_misuse_is_one_line_and_status_2(
    text: str, named: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path
) -> None:
    outcome = tokenring(capsys, "bench", *text.format(none=tmp_path / "none", staged=staged).split())
    assert outcome.status == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("tokenring: error: ")
    assert outcome.err.count("\n") == 1
    assert named in outcome.err
    assert not list(tmp_path.iterdir())


def test_help_names_the_experiments_and_their_sweeps(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = tokenring(capsys, "bench", "--help")
    assert all(name in outcome.out for name in ("wordcount", "scaling", "chain", "idle", "nexmark", "all"))
    outcome = tokenring(capsys, "bench", "wordcount", "--help")
    wanted = ("--quantum-log2", "--rate", "--workers", "--quick", *MECHANISMS, *SOURCES)
    assert all(name in outcome.out for name in wanted)
    assert "with --quick: quantum-log2 8 16 20" in " ".join(outcome.out.split())


def test_help_loads_neither_what_computes_nor_what_draws() -> None:
    program = "import sys\nimport tokenring.nexmark.bench.command\nprint({'numpy', 'matplotlib'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
