"""Settings: defaults that fit the machine, and errors that name the option."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.cores.machines import write
from tests.errors import raises
from tokenring.engine import Config, ConfigError, execute
from tokenring.engine.worker.config import usable_cores
from tokenring.shm.memory.layout import MAX_WORKERS
from tokenring.shm.queues import message_words


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the files of a machine with eight cores are."""
    monkeypatch.setattr("tokenring.engine.worker.config.usable_cores", lambda: list(range(8)))
    monkeypatch.setattr("tokenring.engine.worker.config._ROOT", tmp_path)
    return tmp_path


def test_defaults(eight_cores: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tokenring"):
        assert Config().workers == 8
    assert caplog.records == []


@pytest.mark.parametrize(("quota", "workers"), [("350000 100000", 3), ("150000 100000", 1), ("5000 100000", 1)])
def test_a_quota_of_cpu_time_limits_the_workers(
    eight_cores: Path, caplog: pytest.LogCaptureFixture, quota: str, workers: int
) -> None:
    write(eight_cores, {"proc/self/cgroup": "0::/own\n", "sys/fs/cgroup/own/cpu.max": f"{quota}\n"})
    with caplog.at_level(logging.INFO, "tokenring"):
        assert Config().workers == workers
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"workers by default: {workers}, for 8 usable cores and a cgroup's quota of ")


@pytest.mark.parametrize("quota", ["max 100000", "900000 100000"])
def test_a_quota_of_as_many_cpus_as_there_are_limits_nothing(eight_cores: Path, quota: str) -> None:
    write(eight_cores, {"proc/self/cgroup": "0::/own\n", "sys/fs/cgroup/own/cpu.max": f"{quota}\n"})
    assert Config().workers == 8


def test_who_says_how_many_workers_gets_them_whatever_the_quota(eight_cores: Path) -> None:
    write(eight_cores, {"proc/self/cgroup": "0::/own\n", "sys/fs/cgroup/own/cpu.max": "150000 100000\n"})
    assert Config(workers=5).workers == 5


def test_the_default_on_this_machine() -> None:
    assert 1 <= Config().workers <= len(usable_cores())


@given(st.integers(1, MAX_WORKERS))
def test_default_queues_fit_a_budget(workers: int) -> None:
    config = Config(workers=workers)
    layout = config.layout
    assert layout.queue_words * 8 == config.queue_bytes
    if workers > 140:
        assert config.queue_bytes == 2**13
    else:
        assert layout.total_bytes <= 160 * 2**20
    wasted = config.queue_bytes < 2**21 and workers <= 140
    twice = Config(workers=workers, queue_bytes=2 * config.queue_bytes)
    assert not wasted or twice.layout.total_bytes > 158 * 2**20, "the queues could have been twice as large"


@pytest.mark.parametrize(
    ("workers", "queue_kib", "total_mib"), [(2, 2048, 5), (9, 2048, 145), (64, 32, 128), (128, 8, 132), (140, 8, 158)]
)
def test_the_sizes_that_the_documents_name(workers: int, queue_kib: int, total_mib: int) -> None:
    config = Config(workers=workers)
    assert config.queue_bytes == queue_kib * 1024
    assert round(config.layout.total_bytes / 2**20) == total_mib


def test_the_smallest_queue_takes_wide_rows_and_texts() -> None:
    """A message of eight rows of 31 columns, or one row of seven and a KB of text: what 128 workers can send."""
    limit_words = Config(workers=MAX_WORKERS).layout.queue_words // 4
    assert message_words(8, 31) <= limit_words
    assert message_words(1, 7) + 1024 // 8 <= limit_words


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("workers", -1),
        ("workers", MAX_WORKERS + 1),
        ("workers", 2.5),
        ("workers", 0.0),
        ("workers", "2"),
        ("workers", None),
        ("workers", True),
        ("queue_bytes", 2048),
        ("queue_bytes", 5000),
        ("queue_bytes", -4096),
        ("queue_bytes", 4096.0),
        ("ring_records", 32),
        ("ring_records", 100),
        ("ring_records", "64"),
        ("spin_us", -1),
        ("spin_us", None),
        ("backlog_bytes", -1),
        ("backlog_bytes", 1e6),
        ("memory_bytes", -1),
    ],
)
def test_options_that_cannot_work(option: str, value: Any) -> None:
    with raises(ConfigError, option, f"not {value!r}" if value != -1 or option == "workers" else "negative"):
        Config(**{option: value})


@pytest.mark.parametrize("option", ["queue_bytes", "spin_us", "backlog_bytes", "memory_bytes"])
def test_an_option_that_leaves_64_bits(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    with raises(ConfigError, option, "less than 2**63"):
        Config(**{option: 2**63})
    monkeypatch.setenv("TOKENRING_MEMORY", "20000000000G")
    with raises(ConfigError, "memory_bytes", "less than 2**63"):
        Config()


def test_none_is_a_choice_too() -> None:
    config = Config(spin_us=0, backlog_bytes=0, memory_bytes=0)
    assert (config.spin_us, config.backlog_bytes, config.memory_bytes) == (0, 0, 0)


@pytest.mark.parametrize(
    ("option", "one", "other"), [("workers", 3, 2), ("start", "spawn", "fork"), ("memory_bytes", 2**30, 2**31)]
)
def test_two_answers_to_one_question(option: str, one: Any, other: Any) -> None:
    with raises(ConfigError, f"{option}={one!r}", f"config.{option}={other!r}"):
        execute(lambda worker: None, **{option: one}, config=Config(**{option: other}))


def test_what_a_whole_config_leaves_open_may_be_said_besides(eight_cores: Path) -> None:
    assert execute(lambda worker: worker.config.checks, workers=1, config=Config(checks="exhaustive")) == ["exhaustive"]
    said: dict[str, Any] = {"checks": "exhaustive", "pin": False, "spin_us": 0}
    config = Config(**said).with_options(workers=12, start="spawn", memory_bytes=2**30)
    assert config == Config(**said, workers=12, start="spawn", memory_bytes=2**30)
