"""The README: its first program runs, and its commands exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.examples.documents import blocks, output
from tests.imports import ROOT
from tokenring.nexmark.commands.cli import cli

README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^tokenring .*$", README, flags=re.M)


def test_the_first_dataflow_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first, _ = blocks("README.md", "python")
    assert output(first, tmp_path, capfd) == (first.prints, "")


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_those_of_the_program(line: str) -> None:
    """Parsed by click, not run: a wrong option, value or subcommand is an error."""
    _, name, *arguments = shlex.split(line)
    command = cli.get_command(cli.make_context("tokenring", [name]), name)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.get_command(click.Context(command), name)
    assert command is not None
    command.make_context(name, arguments)


def test_each_subcommand_is_shown() -> None:
    shown = {"stage", "run", "profile", "bench", "why", "hold", "views", "query"}
    shown |= {"install", "remove", "migrate", "health", "snapshot", "snapshots"}
    assert {shlex.split(line)[1] for line in COMMANDS} == shown
