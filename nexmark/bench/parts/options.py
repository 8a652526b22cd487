"""Options as people write them: several values behind one (`--workers 1 2`), numbers, and what every experiment has."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any

import click

from tokenring.tools.system import memory_option

_MEMORY = "TOKENRING_MEMORY"


class ListCommand(click.Command):
    """A command whose `multiple` options take all values that follow them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        lists = {name for option in self.params if getattr(option, "multiple", False) for name in option.opts}
        return super().parse_args(ctx, spelled_out(args, lists))


class ExperimentCommand(ListCommand):
    """One that measures in groups of its own, each of which may be given a budget by `--memory`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        memory_option(self)

    def invoke(self, ctx: click.Context) -> Any:
        memory_bytes = ctx.params.pop("memory")
        before = os.environ.get(_MEMORY)
        if memory_bytes is not None:
            os.environ[_MEMORY] = str(memory_bytes)  # as each group's Config reads it, wherever that is made
        try:
            return super().invoke(ctx)
        finally:
            if memory_bytes is not None:
                if before is None:
                    del os.environ[_MEMORY]
                else:
                    os.environ[_MEMORY] = before


def option(shown: str, kind: Any, text: str, default: Any = None, to: str = "", **more: Any) -> Callable[..., Any]:
    """An option as help shows it: "--rate EVENTS_PER_S", or "--workers N..." where it takes several values. to: the
    parameter's name, where it is another."""
    flag, _, metavar = shown.partition(" ")
    if default is not None:
        more |= {"default": default, "show_default": "[default" not in text}
    return click.option(
        flag, *([to] if to else []), type=kind, metavar=metavar or None, multiple=metavar.endswith("..."), help=text,
        **more,
    )  # fmt: skip


def with_options(function: Callable[..., Any], options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """The function with options, which help shows in their order."""
    for one in reversed(options):
        function = one(function)
    return function


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
