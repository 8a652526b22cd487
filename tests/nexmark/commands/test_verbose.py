"""`--verbose`: a line on stderr of where the workers run, and of nothing when it was not asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.nexmark.helpers import seal_generated, tokenring
from tokenring.nexmark.events.generator import GeneratorConfig


def test_verbose_says_where_workers_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    staged = seal_generated(tmp_path / "events", GeneratorConfig(2_000))
    arguments = ("run", "q4", "--input", staged, "--workers", "1")
    assert tokenring(capsys, "run", "q4", "--verbose", "--workers", "none").status == 2
    outcome = tokenring(capsys, *arguments, "--verbose")
    assert outcome.status == 0
    said = r"tokenring: workers on cores \d+ \(of \d+; .*\), (spinning \d+ µs|not spinning: .*)\n"
    assert re.fullmatch(said, outcome.err)
    assert tokenring(capsys, *arguments).err == "", "and not for ever after"
