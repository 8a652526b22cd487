"""Settings: defaults that fit the machine, and errors that name the option."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenring.engine import Config, ConfigError, execute
from tokenring.engine.worker.config import usable_cores
from tokenring.shm.memory.layout import MAX_WORKERS


def test_defaults() -> None:
    config = Config()
    assert config.workers == len(usable_cores())
    assert not config.oversubscribed
    assert Config(workers=config.workers + 1).oversubscribed


@given(st.integers(1, MAX_WORKERS))
def test_default_queues_fit_a_budget(workers: int) -> None:
    config = Config(workers=workers)
    layout = config.layout
    assert layout.queue_words * 8 == config.queue_bytes >= 32768
    pairs_bytes = workers * (workers - 1) * config.queue_bytes
    assert pairs_bytes <= (160 * 2**20 if workers <= 72 else workers * (workers - 1) * 32768)
    assert layout.total_bytes - pairs_bytes <= 2 * 2**20 + workers**2 * 512  # the ring and everybody's lines


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("workers", -1),
        ("workers", MAX_WORKERS + 1),
        ("workers", 2.5),
        ("workers", 0.0),
        ("workers", "2"),
        ("workers", None),
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
    ],
)
def test_options_that_cannot_work(option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=option):
        Config(**{option: value})


def test_two_answers_to_one_question() -> None:
    with pytest.raises(ConfigError, match=r"workers=3 contradicts config\.workers=2"):
        execute(lambda worker: None, workers=3, config=Config(workers=2))
