"""Options as people write them."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tokenring.nexmark.bench.parts import ListCommand, option
from tokenring.nexmark.bench.parts.options import spelled_out
from tokenring.tools.system import Number


def test_values_may_follow_their_option() -> None:
    said = ["v", "--workers", "1", "2", "--rounds", "3", "--rates=1", "--workers", "4"]
    assert spelled_out(said, {"--workers", "--rates"}) == [
        *("v", "--workers", "1", "--workers", "2", "--rounds", "3", "--rates=1", "--workers", "4")
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--workers", "1", "2", "--file", "x"], 0, "(1, 2) 4.0 x"),
        (["--rate", "2", "--file", "x"], 0, "(3,) 2.0 x"),
        (["--rate", "nan", "--file", "x"], 2, "nan is no number"),
        (["--workers", "1"], 2, "--file"),
        (["--help"], 0, "[default: 3]"),
    ],
)
def test_an_option_is_what_help_shows(arguments: list[str], status: int, said: str) -> None:
    @click.command(cls=ListCommand)
    @option("--workers N...", int, "Processes.", (3,), "counts")
    @option("--rate EVENTS", Number(0), "Offered.  [default: 4 of them]", 4.0)
    @option("--file FILE", str, "Where.", required=True)
    def command(counts: tuple[int, ...], rate: float, file: str) -> None:
        click.echo(f"{counts} {rate} {file}")

    ended = CliRunner().invoke(command, arguments)
    assert (ended.exit_code, said in ended.output) == (status, True), ended.output
    assert "default: 4.0" not in ended.output, "said once"
