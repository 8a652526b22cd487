"""Options of several values as people write them (`--workers 1 2`, not `--workers 1 --workers 2`), and of numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import click


class ListCommand(click.Command):
    """A command whose `multiple` options take all values that follow them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        lists = {name for option in self.params if getattr(option, "multiple", False) for name in option.opts}
        return super().parse_args(ctx, spelled_out(args, lists))


def spelled_out(arguments: Sequence[str], lists: Collection[str]) -> list[str]:
    """Arguments as click takes them: `--workers 1 2` becomes `--workers 1 --workers 2` if it is one of `lists`."""
    said: list[str] = []
    option = ""
    for argument in arguments:
        if argument.startswith("-"):
            option = argument
        elif said and option in lists and said[-1] != option:
            said.append(option)
        said.append(argument)
    return said


class Number(click.FloatRange):
    """A range of numbers alone: NaN compares with nothing, so a plain range lets it through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        converted = super().convert(value, param, ctx)
        if math.isnan(converted):
            self.fail("nan is no number", param, ctx)
        return converted
