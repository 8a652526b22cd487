"""The command line of the benchmarks: a verb each, errors as one line, status 2 for what the person can put right."""

from __future__ import annotations

import signal
import sys

import click

from scripts.benchmarks.parts import PARTS
from tokenring.nexmark.commands import SETTINGS, LazyGroup
from tokenring.tools.errors import CommandError
from tokenring.tools.system import Ended, ending_signals_raise, in_one_line

_TEXTS = {
    "all": "Everything, from one commit, and the tables: the figures of the documents.",
    **{name: part.text for name, part in PARTS.items() if part.text},
    "earlier": "Q4 and Q7 against an earlier commit: what a change costs.",
    "tables": "Put the tables and plots of docs/benchmarks/*.json into the documents.",
}
_COMMANDS = {name: (f"scripts.benchmarks.{name}", "command", text) for name, text in _TEXTS.items()}
_COMMANDS["bench"] = ("tokenring.nexmark.bench.command", "bench", "The experiments of `tokenring bench`.")


@click.command(cls=LazyGroup, lazy_commands=_COMMANDS, context_settings=SETTINGS)
def benchmarks() -> None:
    """Measure TokenRing. Leave the machine alone meanwhile: the figures are worth what its quiet is worth."""


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; returns the exit status."""
    try:
        with ending_signals_raise(), in_one_line():
            status = benchmarks.main(arguments, prog_name="scripts/benchmark", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except (CommandError, Ended) as error:
        return _complain(str(error), error.exit_status)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _complain("interrupted", 128 + signal.SIGINT)
    return status if isinstance(status, int) else 0


def _complain(text: str, status: int) -> int:
    click.echo(f"benchmark: error: {' '.join(text.split())}", err=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
