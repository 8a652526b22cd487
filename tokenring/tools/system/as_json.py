"""`--json` of all commands: into a file besides what is printed, or alone on standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from tokenring.tools.errors import OptionError
from tokenring.tools.system.files import STANDARD_OUTPUT, PathOption, replace, require_writable


def json_option(what: str, more: str = "") -> Any:
    """The option, as `json_file`: None, STANDARD_OUTPUT, or a file that can be written.

    `what` is written; `more` says what a FILE's folder gets besides.
    """
    text = f"Write {what} as JSON to FILE, besides what is printed; without FILE, or with -, to standard output, and "
    return click.option(
        "--json", "json_file", metavar="[FILE]", is_flag=False, flag_value=str(STANDARD_OUTPUT), type=PathOption(),
        callback=_writable, help=f"{text}print nothing else.{more and f'  {more}'}",
    )  # fmt: skip


def write_json(target: Path, value: Any) -> None:
    """Write what can be JSON, and texts for what cannot."""
    import orjson

    from tokenring.engine.columns import as_text

    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    written = orjson.dumps(value, option=options, default=as_text)
    if target == STANDARD_OUTPUT:
        click.echo(written, nl=False)
    else:
        replace(target, written)


@contextmanager
def json_lines(target: Path | None) -> Iterator[Callable[[Any], None]]:
    """What writes the same one after the other, each a line, as soon as it is called; nothing where there is no target.
    """
    import orjson

    from tokenring.engine.columns import as_text

    with ExitStack() as files:
        out = None if target is None or target == STANDARD_OUTPUT else files.enter_context(target.open("wb"))

        def write(value: Any) -> None:
            line = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE, default=as_text)
            if target == STANDARD_OUTPUT:
                click.echo(line, nl=False)
            elif out is not None:
                out.write(line)
                out.flush()

        yield write


def _writable(_context: click.Context, _option: click.Parameter, target: Path | None) -> Path | None:
    if target is None or target == STANDARD_OUTPUT:
        return target
    if str(target).isdecimal():  # more likely a PROCESS, before which the file was left out
        raise OptionError(f"--json {target}: for a file write ./{target}; for standard output, --json - {target}")
    require_writable(target)
    return target
