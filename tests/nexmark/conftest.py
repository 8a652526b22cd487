"""What the tests share: a Spark that answers many of them, a folder staged by it, and a JVM that starts quickly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nexmark.resident_spark import ResidentSpark
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.measure.verdict import Backlog
from tokenring.nexmark.run import runner
from tokenring.nexmark.staging.staging import stage_generated

SHARED_EVENTS = 200_000


@pytest.fixture(scope="session", autouse=True)
def quick_jvm() -> Iterator[None]:
    """Jobs of seconds are over before the JVM's second compiler has earned what it costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


@pytest.fixture
def answers_alone_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's hiccups are, and whether it keeps up while others use it too, is not what the test asks."""
    monkeypatch.setattr(runner, "HICCUP_S", 0.02)
    monkeypatch.setattr(Backlog, "note", lambda *_: False)


@pytest.fixture(scope="session")
def resident_spark(quick_jvm: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResidentSpark]:
    """The process that `spark` is about."""
    resident = ResidentSpark(tmp_path_factory.mktemp("spark"))
    yield resident
    resident.close()


@pytest.fixture
def spark(resident_spark: ResidentSpark) -> Iterator[None]:
    """Jobs that this test starts in its own process share one JVM with those of others."""
    with resident_spark.at_hand():
        yield


@pytest.fixture(scope="session")
def shared_config() -> GeneratorConfig:
    # Several windows for Q7, and a last group of 50 that is not whole.
    return GeneratorConfig(events=SHARED_EVENTS - 7, rate=5_000, seed=11)


@pytest.fixture(scope="session")
def shared_staged(
    resident_spark: ResidentSpark, tmp_path_factory: pytest.TempPathFactory, shared_config: GeneratorConfig
) -> Path:
    """About 200 000 events, staged by Spark on three partitions; never written to by a test."""
    out = tmp_path_factory.mktemp("shared") / "events"
    with resident_spark.at_hand():
        stage_generated(out, shared_config, master="local[2]", partitions=3)
    return out
