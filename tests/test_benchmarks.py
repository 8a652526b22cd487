"""The benchmarks in a tiny form: they write whole figures, fill the document, and refuse nonsense; no timings."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from scripts.benchmarks import latency, step_kernels, tables
from scripts.benchmarks.__main__ import main
from scripts.benchmarks.goals import goals, render_goals
from scripts.benchmarks.measure import DOCUMENTS, RESULTS, ROOT
from scripts.benchmarks.parts import LEFT_OUT
from tests.errors import raises
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.bench.parts import machine
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.run import runner
from tokenring.tools.errors import OptionError

EVENTS = 60_000
TINY = {
    "nexmark": ("--workers", "1", "2", "--rounds", "2"),
    "queries": ("--workers", "1", "2", "--rounds", "1", "--query", "q1", "q18"),
    "open": ("--rate", "50000", "--duration", "0.5", "--rounds", "1", "--workers", "2", "--query", "q7"),
    "latency": ("--workers", "1", "--rates", "50000", "--duration", "0.5", "--rounds", "1"),
    "step": ("--workers", "2", "--rates", "100000", "--duration", "0.5"),
    "memory": ("--rate", "60000", "--duration", "0.6", "--rounds", "1", "--idle", "0.1"),
}
KEYS = {
    "nexmark": {"verified", "figures", "ratios"},
    "queries": {"verified", "rows"},
    "open": {"rows"},
    "latency": {"figures", "held"},
    "step": {"kernels", "queries", "floors"},
    "memory": {"memory", "oversubscribed", "idle"},
}


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(
        tmp_path_factory.mktemp("bench") / "events", GeneratorConfig(events=EVENTS, rate=1_500, seed=3)
    )


@pytest.fixture(scope="module")
def figures(no_memory_made_ready: None, staged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The JSON files of a tiny run of every benchmark."""
    folder = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        for module in (runner, latency):
            patch.setattr(module, "HICCUP_S", 0.02)  # the machine's hiccups are not looked at
        patch.setattr(step_kernels, "_REPEATS", 1)  # nor how much figures vary
        for verb, options in TINY.items():
            assert main([verb, "--input", str(staged), *options, "--json", str(folder / f"{verb}.json")]) == 0
    return folder


def read(folder: Path, verb: str) -> dict[str, Any]:
    data = orjson.loads((folder / f"{verb}.json").read_bytes())
    assert isinstance(data, dict)
    return data


@pytest.mark.slow
@pytest.mark.parametrize("verb", TINY)
def test_figures_are_whole(figures: Path, verb: str) -> None:
    data = read(figures, verb)
    assert data.keys() == {"benchmark", "machine", "parameters"} | KEYS[verb]
    assert data["benchmark"] == verb
    assert data["machine"].keys() == {
        *("processor", "cores", "memory_gb", "kernel", "python", "packages", "commit", "measured")
    }
    assert data["parameters"]["events"] == EVENTS


@pytest.mark.slow
def test_throughput_compares_every_system(figures: Path) -> None:
    data = read(figures, "nexmark")
    measured = {(row["system"], row["query"], row["workers"]) for row in data["figures"]}
    assert measured == {
        *(
            (system, query, workers)
            for system in ("tokenring", "duckdb")
            for query in ("q4", "q7")
            for workers in (1, 2)
        ),
        *(("numpy", "q7", 1), ("floor", "floor", 1), ("floor", "floor", 2)),
    }
    for row in data["figures"]:
        assert len(row["seconds"]) == 2
        middle = (EVENTS / row["seconds"][0] + EVENTS / row["seconds"][1]) / 2
        assert row["events_per_second"]["median"] == pytest.approx(middle)
    over = {(row["query"], row["workers"], row["over"]) for row in data["ratios"]}
    assert over == {
        (q, w, o) for q, o in (("q4", "duckdb"), ("q4", "floor"), ("q7", "duckdb"), ("q7", "numpy")) for w in (1, 2)
    }


@pytest.mark.slow
def test_every_query_stands_beside_both_references(figures: Path) -> None:
    data = read(figures, "queries")
    assert data["verified"] is True
    assert [(row["query"], row["workers"]) for row in data["rows"]] == [(q, w) for q in ("q1", "q18") for w in (1, 2)]
    for row in data["rows"]:
        assert row["over_duckdb"]["median"] > 0
        assert row["over_polars"]["median"] > 0
        assert ("polars_over_one" in row) == (row["workers"] == 2)


@pytest.mark.slow
def test_an_open_loop_tells_its_latency_and_the_hiccups(figures: Path) -> None:
    (row,) = read(figures, "open")["rows"]
    assert row["query"] == "q7"
    assert row["rounds"] == len(row["verdicts"]) == 1
    assert row["latency_ms"].keys() == row["callback"]["latency_ms"].keys() == {"p50", "p99", "p999", "max"}


@pytest.mark.slow
def test_latency_stands_beside_the_floor_and_the_hiccups(figures: Path) -> None:
    data = read(figures, "latency")
    assert [(row["rate"], row["system"]) for row in data["figures"]] == [(5e4, "q4"), (5e4, "q7"), (5e4, "floor")]
    for row in data["figures"]:
        assert len(row["runs"]) == row["rounds"] == 1
        for run in row["runs"]:
            assert run["latency_ms"].keys() == {"p50", "p99", "p999", "max"}
            assert run["hiccup_ms"].keys() == {"p999", "max"}
            assert run["events_per_second"] > 0
    assert {row["system"] for row in data["held"]} == {"q4", "q7", "floor"}


def test_a_call_is_timed_as_if_nobody_else_had_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that takes 50 ns a look, and once in a while a millisecond, as where others run meanwhile."""
    now_ns = looks = 0

    def clock_ns() -> int:
        nonlocal now_ns, looks
        looks += 1
        now_ns += 50 if looks % 100 else 1_000_000
        return now_ns

    def call() -> None:
        nonlocal now_ns
        now_ns += 300

    monkeypatch.setattr(step_kernels, "monotonic_ns", clock_ns)
    assert step_kernels.each_us(call, lambda: None) == pytest.approx(0.3)


@pytest.mark.slow
def test_the_budget_names_every_operator(figures: Path) -> None:
    data = read(figures, "step")
    assert all(row["us"] > 0 for row in data["kernels"])
    assert [(row["query"], row["rate"]) for row in data["queries"]] == [
        ("q4", 1e5),
        ("q7", 1e5),
        ("q4", None),
        ("q7", None),
    ]
    wanted = {
        "q4": {"winning_bids", "average_by_category"},
        "q7": {"maxima.local", "maxima", "result"},
    }
    for query in data["queries"]:
        parts = {part["part"]: part for part in query["parts"]}
        assert parts.keys() >= {f"operator {name}" for name in wanted[query["query"]] | {"nexmark"}} | {"step"}
        assert all(part["calls"] > 0 for part in parts.values())
        assert sum(part["share"] for part in parts.values()) == pytest.approx(1)
        # All parts but the steps themselves are called by steps, so their own times fit within.
        assert parts["step"]["own_us"] < parts["step"]["whole_us"]
    assert [row["rate"] for row in data["floors"]] == [1e5, None]


@pytest.mark.slow
def test_memory_is_sampled_of_every_worker(figures: Path) -> None:
    data = read(figures, "memory")
    assert [(row["query"], row["rate"]) for row in data["memory"]] == [
        ("q4", None),
        ("q7", None),
        ("q4", 6e4),
        ("q7", 6e4),
    ]
    for row in data["memory"]:
        for sample in row["samples"]:
            assert len(sample["own_mb"]) == row["workers"]
            assert all(own > 1 for own in sample["own_mb"])
    assert data["memory"][2]["samples"]
    assert len(data["idle"]["core_share"]) == data["idle"]["workers"]
    assert [row["query"] for row in data["oversubscribed"]] == ["q4", "q7"]


# The document


def test_plots_of_experiments_are_drawn_again(tmp_path: Path) -> None:
    row = {"experiment": "chain", "operators": 8, "workers": 1, "mechanism": "tokens", "p50_ms": 1.0, "p99_ms": 2.0}
    data = {"benchmark": "bench-chain", "complete": True, "machine": machine(), "rows": [row | {"error": None}]}
    (tmp_path / "bench-chain.json").write_bytes(orjson.dumps(data))
    document = tmp_path / "experiments.md"
    document.write_text(DOCUMENTS[1].read_text())
    options = ["--document", str(document), "--figures", str(tmp_path)]
    assert main(["tables", *options]) == 0
    assert "| 8 | 1 | 1,000 | 2,000 | – |\n\n![bench-chain](benchmarks/bench-chain.svg)" in document.read_text()
    assert "<svg" in (tmp_path / "bench-chain.svg").read_text()
    assert main(["tables", *options, "--check"]) == 0


@pytest.mark.slow
def test_tables_are_put_between_the_markers(figures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "performance.md"
    document.write_text(DOCUMENTS[0].read_text())
    options = ["--document", str(document), "--figures", str(figures)]
    assert main(["tables", *options, "--check"]) == 1
    assert main(["tables", *options]) == 0
    assert main(["tables", *options, "--check"]) == 0
    text = document.read_text()
    unmeasured = re.findall(r"Not measured yet: `\./scripts/benchmark (\w+)", text)
    expected = ["all", "road", "worth", "workers", "roundtrip", "starts", "hops", "collections", "recovery"]
    expected += ["migration", "earlier", "state"]
    assert unmeasured == expected
    assert "| Q4 | TokenRing | 2 |" in text
    assert "operator winning_bids" in text
    document.write_text(text.replace("| Q4 | TokenRing | 2 |", "| Q4 | TokenRing | 3 |"))
    assert main(["tables", *options, "--check"]) == 1
    assert "is not what" in capsys.readouterr().err


def test_tables_refuse_figures_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "nexmark.json").write_text('{"benchmark": "step"}')
    with raises(OptionError, "nexmark.json", "nexmark", "measure again"):
        tables.marked("nexmark", tmp_path)
    (tmp_path / "nexmark.json").write_text('{"benchmark": "nexmark", "machine": {}}')
    with raises(OptionError, "nexmark.json", "'parameters'", "measure again"):
        tables.marked("nexmark", tmp_path)


def test_goals_tell_met_from_missed_and_unmeasured() -> None:

    def verdicts(share: float) -> dict[str, tuple[float | None, bool | None]]:
        figures = {"memory": {"oversubscribed": [], "memory": [], "idle": {"core_share": [0.001, share]}}}
        return {what: (measured, met) for what, _, measured, met in goals(figures)}

    assert verdicts(0.03)["an idle worker that holds tokens"] == (3.0, False)
    assert verdicts(0.01)["an idle worker that holds tokens"] == (1.0, True)
    assert verdicts(0.01)["Q4, closed loop, 2 workers"] == (None, None)


def test_a_goal_whose_runs_all_fell_behind_is_missed_and_not_unmeasured() -> None:
    row = {"system": "q4", "workers": 2, "rate": 4e6, "latency_ms": {"p50": None}, "p50_over_floor": None}
    data = {"figures": [row], "held": [], "machine": {"commit": "abc"}}
    text = render_goals({"latency": data})
    assert "| Q4, p50 at 4 M/s, 2 workers | ≤ 100 µs | DNF | **no** |" in text
    assert "| Q7, p50 at 4 M/s, 2 workers | ≤ 60 µs | – | not measured |" in text


def test_the_goals_say_whether_all_figures_are_of_one_commit() -> None:
    def of(**commits: str) -> str:
        return render_goals({name: {"machine": {"commit": commit}} for name, commit in commits.items()})

    assert "measured together, at commit abc" in of(unknown="abc", other="abc", scale="old")
    assert "**Not measured together.** Commit abc: unknown; def: other." in of(unknown="abc", other="def", scale="old")


def test_the_documents_goals_are_measured_or_named() -> None:
    """Whatever has figures in docs/benchmarks is counted, and figures of several commits are called so."""
    commits = {
        orjson.loads(path.read_bytes())["machine"]["commit"]
        for path in RESULTS.glob("*.json")
        if path.stem not in LEFT_OUT and path.stem != "earlier"
    }
    text = DOCUMENTS[0].read_text()
    assert ("**Not measured together.**" in text) == (len(commits) > 1)
    assert all(commit in text for commit in commits)


# Misuse


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nexmark", "--input", "{none}", "--json", "{out}"], "no such folder"),
        (["nexmark", "--input", "{staged}", "--json", "{none}/x.json"], "--json"),
        (["nexmark", "--input", "{staged}", "--json", "{out}", "--workers", "0"], "--workers"),
        (["latency", "--input", "{staged}", "--json", "{out}", "--rates", "1e6", "--duration", "3"], "stage more"),
        (["memory", "--input", "{staged}", "--json", "{out}"], "stage more"),
        (["latency", "--input", "{staged}", "--json", "{out}", "--rates", "1", "--workers", "500"], "--workers 500"),
        (["step", "--input", "{staged}"], "--json"),
        (["tables", "--document", "{none}"], "no such file"),
        (["all", "--quick"], "--out"),
        (["warp"], "warp"),
    ],
)
def test_misuse_is_one_line_and_status_2(
    arguments: list[str], said: str, staged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"none": str(tmp_path / "none"), "staged": str(staged), "out": str(tmp_path / "out.json")}
    assert main([argument.format(**names) for argument in arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("benchmark: error: ")
    assert said in printed
    assert printed.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_script_is_bash_and_can_be_run() -> None:
    script = ROOT / "scripts" / "benchmark"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", script], check=True, timeout=30)
