"""Staged folders the tests share: one made by Spark, and small ones sealed without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexmark.generator import GeneratorConfig
from nexmark.stage import stage_generated

SHARED_EVENTS = 200_000


@pytest.fixture(scope="session")
def shared_config() -> GeneratorConfig:
    # Several windows for Q7, and a last group of 50 that is not whole.
    return GeneratorConfig(events=SHARED_EVENTS - 7, rate=5_000, seed=11)


@pytest.fixture(scope="session")
def shared_staged(tmp_path_factory: pytest.TempPathFactory, shared_config: GeneratorConfig) -> Path:
    """About 200 000 events, staged by Spark on three partitions; never written to by a test."""
    out = tmp_path_factory.mktemp("shared") / "events"
    stage_generated(out, shared_config, master="local[2]", partitions=3)
    return out
