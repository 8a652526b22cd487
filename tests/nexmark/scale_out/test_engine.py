"""`tokenring run --engine spark`: TokenRing's own rows, as a batch and as a stream, and what cannot be asked of it."""

from __future__ import annotations

import itertools
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from tests.nexmark.helpers import seal_generated, tokenring
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.scale_out.engine import SparkPlan, run_on_spark
from tokenring.nexmark.spark.process import spark_environment
from tokenring.nexmark.sql import NOT_STREAMED, STREAMED
from tokenring.nexmark.sql import QUERIES as TEXTS

EVENTS = 3_003


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A name that Spark would read as a pattern, were it not careful."""
    return seal_generated(tmp_path_factory.mktemp("spark") / "events [x]", GeneratorConfig(EVENTS, rate=100, seed=6))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_batch(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path) -> None:
    file, out = tmp_path / "outcome.json", tmp_path / "rows.parquet"
    told = tokenring(
        capsys, "run", "q4", "--input", staged, "--engine", "spark", "--verify", "--events", "3000", "--json", file,
        "--out", out,
    )  # fmt: skip
    assert (told.status, told.err) == (0, "")
    spark = orjson.loads(file.read_bytes())
    assert (spark["engine"], spark["mode"], spark["workers"], spark["events"]) == ("spark", "batch", 2, 3000)
    assert (spark["verified"], spark["latency_ms"], spark["result_rows"]) == (True, None, len(spark["result"]))
    assert spark["events_per_second"] == pytest.approx(3000 / spark["seconds"])
    assert min(spark["cpu_seconds"], spark["peak_rss_mb"], spark["start_seconds"]) > 0
    assert pq.read_table(out).to_pylist() == spark["result"]
    own = tokenring(capsys, "run", "q4", "--input", staged, "--events", "3000", "--json", file)
    assert own.status == 0, own.err
    own_outcome = orjson.loads(file.read_bytes())
    assert own_outcome["result"] == spark["result"]
    assert own_outcome["engine"] == "tokenring"
    assert set(own_outcome) - set(spark) <= {"staged_events"}, "the same keys"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_streams(capsys: pytest.CaptureFixture[str], staged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that appends, a join, and one whose rows replace each other; the folder by a URI."""
    monkeypatch.setattr("tokenring.nexmark.commands.run.QUERIES", ("q2", "q4", "q7", "q8"))
    link = staged.parent / "plain"
    link.symlink_to(staged)
    uri = f"file://{link}"
    told = tokenring(
        capsys, "run", "all", "--input", uri, "--engine", "spark", "--streaming", "--verify", "--json", "-"
    )
    assert (told.status, told.err) == (0, "")
    rows = orjson.loads(told.out)["rows"]
    assert [(row["query"], row["mode"], row["verified"]) for row in rows] == [
        (query, "streaming", True) for query in ("q2", "q7", "q8")
    ]
    assert all(row["micro_batches"]["count"] >= 1 and row["result_rows"] > 0 for row in rows)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_nothing_there(capsys: pytest.CaptureFixture[str], staged: Path) -> None:
    """No events are asked for, or none are staged."""
    with run_on_spark(SparkPlan(("q7",), str(staged), events=0)) as ((empty, rows),):
        assert (empty["events"], rows.num_rows) == (0, 0)
    told = tokenring(capsys, "run", "q7", "--input", staged.parent, "--engine", "spark")
    assert told.status == 2
    assert "manifest.json" in told.err
    assert "tokenring stage" in told.err


def test_each_query_streams_or_has_a_reason() -> None:
    assert sorted(itertools.chain(STREAMED, NOT_STREAMED)) == sorted(TEXTS)
    for query, key in STREAMED.items():
        if key and query in QUERIES:
            assert set(key) <= set(QUERIES[query].result.names)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("q4 --streaming", "q4 cannot run with --streaming: it aggregates an aggregate"),
        ("q4 --rate 5", "--rate is for TokenRing's own engine"),
        ("q4 --mechanism notifications", "--mechanism is for TokenRing's own engine"),
        ("q4 --checks exhaustive", "--checks is for TokenRing's own engine"),
        ("all --out rows.parquet", "--out is for one query's rows"),
    ],
)
def test_what_cannot_be_asked(capsys: pytest.CaptureFixture[str], staged: Path, arguments: str, named: str) -> None:
    told = tokenring(capsys, "run", *arguments.split(), "--engine", "spark", "--input", staged)
    assert told.status == 2
    assert named in told.err


def test_what_is_for_spark_alone(capsys: pytest.CaptureFixture[str], staged: Path) -> None:
    for option in (("--streaming",), ("--master", "local[1]")):
        told = tokenring(capsys, "run", "q4", "--input", staged, *option)
        assert (told.status, f"{option[0]} is for Spark" in told.err) == (2, True)


def test_verifying_needs_the_events_here(capsys: pytest.CaptureFixture[str]) -> None:
    told = tokenring(capsys, "run", "q4", "--input", "hdfs://name/events", "--engine", "spark", "--verify")
    assert told.status == 2
    assert "a folder of this machine" in told.err


def test_settings_of_a_site_hold_where_it_has_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not SparkPlan(("q4",), "/data/events").of_site
    assert not SparkPlan(("q4",), "file:///data/events", "local[4]").of_site
    assert SparkPlan(("q4",), "/data/events", "spark://host:7077").of_site
    assert SparkPlan(("q4",), "s3a://bucket/events").of_site
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert "HADOOP_CONF_DIR" not in spark_environment("local[2]")
    there = spark_environment("spark://host:7077", of_site=True)
    assert (there["HADOOP_CONF_DIR"], "SPARK_LOCAL_IP" in there) == ("/etc/hadoop", False)
