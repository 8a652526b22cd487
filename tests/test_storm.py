"""A short form of `scripts/storm`: a few cases of each kind must hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts.storms.__main__ import storm
from scripts.storms.disk import why_untraced
from scripts.storms.full import why_unmounted
from scripts.storms.setting import Setting

TAKES_S = 30


@pytest.mark.parametrize(
    ("kind", "cases"), [("files", 8), ("options", 10), ("kills", 2), ("deaths", 2), ("migration", 2)]
)
def test_a_few_cases_hold(kind: str, cases: int) -> None:
    assert storm([kind], seed=0, cases=cases) == []


@pytest.mark.skipif(bool(why_untraced()), reason=why_untraced())
def test_a_job_outlives_the_power() -> None:
    assert storm(["power"], seed=0, cases=1) == []


@pytest.mark.skipif(bool(why_unmounted()), reason=why_unmounted())
def test_a_job_outlives_a_full_disk() -> None:
    assert storm(["full"], seed=0, cases=2) == []


def test_a_row_group_that_lost_its_rows_is_damaged() -> None:
    """A flipped byte in a page's header, which no checksum covers: a third of the rows once went without a word."""
    assert storm(["files"], seed=197, cases=1) == []


def test_a_call_writes_beside_nobodys_files(tmp_path: Path) -> None:
    """A file by the name of `-h` once lay in the checkout, after `--json -h`."""
    setting = Setting(tmp_path)
    before = sorted(os.listdir())
    setting.call(lambda: Path("1e-400").write_text("{}"))
    assert (sorted(os.listdir()), os.listdir(setting.here)) == (before, ["1e-400"])
