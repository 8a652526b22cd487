"""The command: help without loading anything, and every absurd option named on one line with exit status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.nexmark.helpers import tokenring


def test_help_names_the_subcommands_and_loads_none(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = tokenring(capsys, "--help")
    assert outcome.status == 0
    assert all(name in outcome.out for name in ("stage", "run", "profile"))
    code = "import sys, tokenring.nexmark.commands.cli\n"
    code += "print(sorted({'numpy', 'pyarrow', 'pyspark', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_help_of_stage(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = tokenring(capsys, "stage", "--help")
    assert outcome.status == 0
    options = ("--out", "--events", "--rate", "--seed", "--from", "--time-unit", "--master", "--partitions", "--force")
    assert all(option in outcome.out for option in options)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert tokenring(capsys, "--version").out.startswith("tokenring")


def test_no_subcommand_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = tokenring(capsys)
    assert outcome.status == 2
    assert "stage" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--events 0", "--events"),
        ("--events -5", "--events"),
        ("--events ten", "--events"),
        ("--events 99999999999999999", "--events"),
        ("--events 10 --rate 0", "--rate"),
        ("--events 10 --rate -1", "--rate"),
        ("--events 10 --rate 1000000000001", "--rate"),
        ("--events 10 --seed -1", "--seed"),
        ("--events 10 --seed 9223372036854775808", "--seed"),
        ("--events 10 --partitions 0", "--partitions"),
        ("--events 10 --partitions 100000", "--partitions"),
        ("--events 10 --master yarn", "--master"),
        ("--events 10 --master local[0]", "--master"),
        ("--events 10 --master spark://nowhere", "--master"),
        ("--events 10 --master spark://127.0.0.1:1", "--master spark://127.0.0.1:1: 127.0.0.1:1 does not answer"),
        ("--events 10 --time-unit us", "--time-unit"),
        ("--events 10 --set hot_auction_ratio=0", "hot_auction_ratio"),
        ("--events 10 --set hot=3", "hot_auction_ratio, hot_bidder_ratio"),
        ("--events 10 --set categories=five", "--set categories=five"),
        ("--events 10 --set rate=5", "use --rate"),
        ("--events 1000000000000 --rate 1", "events"),
        ("", "--events N"),
        ("--from src --events 10", "--events"),
        ("--from src --rate 10 --seed 1", "--rate, --seed"),
        ("--from src --set categories=3", "--set"),
        ("--from src --master local --partitions 2", "--master, --partitions: for generated events only"),
        ("--from src --time-unit s", "--time-unit"),
        ("--from src", "src"),
        ("--nonsense", "--nonsense"),
    ],
)
def test_an_absurd_option_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, named: str
) -> None:
    outcome = tokenring(capsys, "stage", "--out", tmp_path / "events", *arguments.split())
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("tokenring: error: ")
    assert named in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"), [("rum", "'rum'; did you mean 'run'?"), ("nexmark", "'nexmark'; there are stage, run, profile, ")]
)
def test_a_command_that_is_none(capsys: pytest.CaptureFixture[str], name: str, said: str) -> None:
    outcome = tokenring(capsys, name, "q4")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"tokenring: error: no command {said}")
    assert outcome.err.count("\n") == 1


def test_out_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = tokenring(capsys, "stage", "--events", "10")
    assert (outcome.status, "--out" in outcome.err) == (2, True)


def test_more_events_than_the_disk_holds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome = tokenring(capsys, "stage", "--out", tmp_path / "a" / "b", "--events", 10**13, "--rate", 10**9)
    assert outcome.status == 2
    assert "the disk has" in outcome.err
    assert list(tmp_path.iterdir()) == []
