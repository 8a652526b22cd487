"""The command line of the benchmarks: a verb each, errors as one line, status 2 for what the person can put right."""

from __future__ import annotations

import importlib
import signal
import sys

import click

from tokenring.tools.errors import CommandError
from tokenring.tools.system.signals import Ended, ending_signals_raise

_VERBS = {
    "all": "Everything, from one commit, and the tables: the figures of the documents.",
    "nexmark": "Q4 and Q7 as fast as they go, against DuckDB over the same columns.",
    "queries": "All queries as fast as they go, against DuckDB and Polars over the same columns.",
    "road": "All queries as users write them, from Parquet files, whole processes, against DuckDB and Polars.",
    "latency": "Q4 and Q7 in an open loop at several rates, against the floor.",
    "open": "All queries in an open loop at one rate.",
    "step": "The budget of a step: what each part of it costs.",
    "memory": "A worker's memory over a long run, more workers than cores, an idle group.",
    "state": "Bytes of state an event for each query, a long run, keys that never come again.",
    "workers": "What a step and memory cost by the number of workers, and a model for many more.",
    "roundtrip": "A row to another worker and its progress back, by how long workers spin.",
    "starts": "Whole processes that do next to nothing: README's first program, --help, a query.",
    "hops": "What a message costs at each operator that it passes, in the inner loop and in Python.",
    "collections": "Views kept up to date: loads, and changes by the size of epochs, beside DuckDB from scratch.",
    "migration": "What it costs that state could move: all queries with their state in bins, and without.",
    "earlier": "Q4 and Q7 against an earlier commit: what a change costs.",
    "scale": "More and more events on TokenRing and on Spark: when to switch.",
    "tables": "Put the tables and plots of docs/benchmarks/*.json into the documents.",
}


class Verbs(click.Group):
    """Imports a benchmark when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        command = importlib.import_module(f"scripts.benchmarks.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def benchmarks() -> None:
    """Measure TokenRing. Leave the machine alone meanwhile: the figures are worth what its quiet is worth."""


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; returns the exit status."""
    from tokenring.engine import ConfigError, TokenRingError
    from tokenring.engine.errors import SharedMemoryError

    try:
        with ending_signals_raise():
            benchmarks.main(arguments, prog_name="scripts/benchmark", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except CommandError as error:
        return _complain(str(error), error.exit_status)
    except (TokenRingError, SharedMemoryError) as error:
        return _complain(str(error), 2 if isinstance(error, ConfigError) else 1)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _complain("interrupted", 128 + signal.SIGINT)
    except Ended as ended:
        return _complain(str(ended), ended.exit_status)
    return 0


def _complain(text: str, status: int) -> int:
    click.echo(f"benchmark: error: {' '.join(text.split())}", err=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
