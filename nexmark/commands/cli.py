"""The `tokenring` command: its subcommands load when they are called, its errors are one line each."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import click

from tokenring import __version__
from tokenring.tools.errors import CommandError
from tokenring.tools.system import Ended, ending_signals_exit, lose_output, put_back

_SUBCOMMANDS: Final = {
    "stage": ("nexmark.commands.stage", "stage", "Stage a table of yours, or NEXMark events: raw columns, mapped."),
    "run": ("nexmark.commands.run", "run", "Answer a NEXMark query on all cores, or run a function of your own."),
    "profile": ("nexmark.commands.profile", "profile", "Run a query or any program under py-spy: flame graphs."),
    "why": ("tools.commands.why", "why", "Say what holds back the frontiers of a run that is under way."),
    "warm-up": ("tools.commands.warm_up", "warm_up", "Compile all kernels, so that no program has to wait."),
    "kernels": ("tools.commands.kernels", "kernels", "Say which library of kernels is in use, or make it anew."),
    "health": ("tools.commands.health", "health", "Say whether a run is ready, and lives, by its status: 0 or 1."),
    "hold": ("tools.commands.hold", "hold", "Keep a frontier of a run from passing a time: a breakpoint."),
    "views": ("tools.commands.query", "views", "List what a run keeps under names, to be read and imported."),
    "query": ("tools.commands.query", "query", "Read what a run keeps under a name, as of one time on all workers."),
    "install": ("tools.commands.install", "install", "Let a run build another dataflow, over what it keeps."),
    "remove": ("tools.commands.install", "remove", "End a dataflow that was installed in a run."),
    "migrate": ("tools.commands.migrate", "migrate", "Move keyed state of a run between its workers, bin by bin."),
    "snapshots": ("tools.commands.snapshots", "snapshots", "List, check, prune and read the snapshots of a job."),
    "snapshot": ("tools.commands.snapshot", "snapshot", "Have a run take a snapshot now, and wait for it."),
    "bench": ("nexmark.bench.command", "bench", "Repeat the paper's experiments: rows, tables and plots."),
}
_COMMANDS: Final = {name: (f"tokenring.{module}", *said) for name, (module, *said) in _SUBCOMMANDS.items()}
SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_USAGE = 2


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called, so that `--help` and short commands stay quick.
    lazy_commands: module, its attribute, and a line, by name."""

    def __init__(self, *args: Any, lazy_commands: Mapping[str, Sequence[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        module, attribute, _ = self._lazy[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._lazy and not name.startswith("-"):
            near = get_close_matches(name, self._lazy, 1)
            cure = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self._lazy)}"
            raise click.UsageError(f"no command {name!r}; {cure}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # click would print an empty line first and then lose which signal it was.
            raise Ended(signal.SIGINT) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in self._lazy.items()])


@click.command(cls=LazyGroup, lazy_commands=_COMMANDS, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="tokenring")
def cli() -> None:
    """TokenRing: a timely-dataflow engine for one many-core machine, answering NEXMark queries.

    Stage events first, then run a query over them:

    \b
      tokenring stage --out events --events 10_000_000
      tokenring run q4 --input events --verify

    Or run a program of your own, a function of a worker or of a scope:

    \b
      tokenring run my_program.py:program --workers 2
    """


def main(arguments: list[str] | None = None) -> None:
    """The entry point: exit status 2 for what the person can put right, 1 for other failures, 128 + n for a signal."""
    before = ending_signals_exit("tokenring")
    try:
        status = cli.main(arguments, prog_name="tokenring", standalone_mode=False)
        click.echo(nl=False)  # what waits to be written is, while we can say that it cannot be
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(_USAGE)
    except click.ClickException as error:
        _complain(error.format_message())
        sys.exit(error.exit_code)
    except CommandError as error:
        _complain(str(error))
        sys.exit(error.exit_status)
    except OSError as error:
        if not _is_output_lost():
            raise
        _complain(f"standard output cannot be written ({error.strerror or error})")
        sys.exit(_USAGE)
    except Ended as ended:
        _complain(str(ended))
        sys.exit(ended.exit_status)
    finally:
        if arguments is not None:  # called by a program that goes on
            put_back(before)
    sys.exit(status if isinstance(status, int) else 0)


def _is_output_lost() -> bool:
    """Whether standard output cannot be written; what waits for it is then thrown away, lest the exit fail on it."""
    try:
        click.echo()  # what could not be written need not wait any more, so that a flush alone may succeed
    except OSError:
        lose_output()
        return True
    return False


def _complain(text: str) -> None:
    line = " ".join(text.split()).encode(errors="backslashreplace").decode()
    click.echo(f"tokenring: error: {line}", err=True)


if __name__ == "__main__":
    main()
