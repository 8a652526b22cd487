"""`--json` of every command: one grammar, one meaning, and the same words about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import orjson
import pytest

from tests.nexmark.helpers import tokenring
from tokenring.engine.ask import Group
from tokenring.nexmark.commands.cli import cli
from tokenring.tools.system import STANDARD_OUTPUT, PathOption

WORDS = "as JSON to FILE, besides what is printed; without FILE, or with -, to standard output, and print nothing else."


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(_commands(cli))
WITH_JSON = [path for path, command in COMMANDS.items() if any("--json" in one.opts for one in command.params)]


def test_these_have_it() -> None:
    top = {"run", "why", "health", "kernels", "views", "query", "migrate", "snapshot", "snapshots", "bench", "stage"}
    assert {path[0] for path in WITH_JSON} == top
    assert {path[1] for path in WITH_JSON if path[0] == "bench"} == {path[1] for path in COMMANDS if path[0] == "bench"}


@pytest.mark.parametrize("path", WITH_JSON, ids=" ".join)
def test_it_is_one_option(path: tuple[str, ...]) -> None:
    (option,) = [one for one in COMMANDS[path].params if "--json" in one.opts]
    assert isinstance(option, click.Option)
    assert isinstance(option.type, PathOption)
    assert (option.is_flag, option.flag_value, option.metavar) == (False, str(STANDARD_OUTPUT), "[FILE]")
    assert WORDS in (option.help or "")


@pytest.mark.parametrize("path", WITH_JSON, ids=" ".join)
@pytest.mark.parametrize(("wrong", "named"), [("", "an empty path"), ("{}", "it is a folder"), ("7", "--json - 7")])
def test_a_wrong_target_is_refused_by_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, path: tuple[str, ...], wrong: str, named: str
) -> None:
    ended = tokenring(capsys, *path, "--json", wrong.format(tmp_path))
    assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "--json" in ended.err
    assert named in ended.err


@pytest.mark.parametrize("command", ["why", "kernels"])
def test_where_it_goes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenring.engine.ask.running_groups", lambda: [Group(7, (8, 9), "serve")])
    file = tmp_path / "said.json"
    printed = tokenring(capsys, command).out
    alone = tokenring(capsys, command, "--json")
    assert tokenring(capsys, command, "--json", "-").out == alone.out
    both = tokenring(capsys, command, "--json", file)
    assert both.out == printed
    assert file.read_bytes().endswith(b"}\n")
    assert orjson.loads(file.read_bytes()) == orjson.loads(alone.out)
