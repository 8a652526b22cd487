"""Finds the first argument on a command's line, where options stand before it and between."""

from __future__ import annotations

from collections.abc import Sequence

import click


def first_argument(line: Sequence[str], *commands: click.Command) -> str:
    """What is neither an option of these commands nor an option's value, before any `--`; "" if there is none."""
    options = [one for command in commands for one in command.params if isinstance(one, click.Option)]
    valued = {name for one in options if not (one.is_flag or one.count) for name in one.opts}
    is_value = False
    for word in line:
        if word == "--":
            break
        if not is_value and not word.startswith("-"):
            return word
        is_value = not is_value and word in valued
    return ""
