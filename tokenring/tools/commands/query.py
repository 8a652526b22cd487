"""`tokenring views` and `tokenring query`: what a running group keeps under names, and the rows of one as of a time, or
from it on.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system import (
    STANDARD_OUTPUT,
    Ended,
    Number,
    ending_signals_raise,
    json_lines,
    json_option,
    lose_output,
    write_json,
)

if TYPE_CHECKING:
    from tokenring.operators.collections import Answer

_NOBODY_READS = 128 + signal.SIGPIPE

timeout_option = click.option("--timeout", type=Number(0.1, 3600), default=5.0, show_default=True,
                              metavar="S", help="How long workers get to answer.")  # fmt: skip


@contextmanager
def asking() -> Iterator[None]:
    """Within the block, what the engine raises becomes an error of the command."""
    from tokenring.engine import UsageError, WorkerError

    try:
        yield
    except UsageError as error:
        raise OptionError(str(error)) from None
    except WorkerError as error:
        raise CommandError(str(error)) from None


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@timeout_option
@json_option("what is exported")
def views(process: int, timeout: float, json_file: Path | None) -> None:
    """List what a running group exports: what `tokenring query` reads, and dataflows import; and what is installed.

    PROCESS is the number of the process that launched the group, or of one of its workers: `tokenring why` lists them.
    Of each: its columns (the key's first), rows, batches and bytes that are kept on all workers, which times can be
    read, and who imports it.
    """
    from tokenring.engine.ask import group_of
    from tokenring.operators.collections import listing_of

    with asking():
        found, failed = listing_of(group_of(process), timeout)
    if json_file is not None:
        write_json(json_file, found._asdict() | {"failed": failed})
    if json_file == STANDARD_OUTPUT:
        return
    for view in found.views:
        kinds = view["columns"]
        key = ", ".join([f"{name} {kinds[name]}" for name in view["key"]])
        values = ", ".join([f"{name} {kind}" for name, kind in kinds.items() if name not in view["key"]])
        upto = "the end" if view["upper"] is None else f"{view['upper'] - 1}"
        times = "nothing is readable yet" if view["upper"] == 0 else f"readable from {view['since']} to {upto}"
        click.echo(f"{view['name']}: key {key}; values {values or 'none'}; of dataflow {view['dataflow']!r}")
        readers = ", ".join([repr(reader) for reader in view["readers"]]) or "nobody"
        click.echo(
            f"    {view['rows']:,} rows in {view['batches']:,} batches, {view['bytes']:,} bytes; {times}; "
            f"imported by {readers}"
        )
    if not found.views:
        click.echo("no arrangement is exported")
    if found.installed:
        click.echo(f"installed: {', '.join(found.installed)}")
    for text in failed.values():
        click.echo(text)


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.argument("view")
@click.option("--key", metavar="K", help="Only the rows of this key: 7, or of several columns 7,Oslo; or in JSON.")
@click.option("--time", "at", type=int, metavar="T", help="As of this time.  [default: the latest finished one]")
@click.option("--follow", is_flag=True, help="Print what changes, too, as times finish, until Ctrl-C.")
@timeout_option
@json_option("the rows, and as of when,")
def query(
    process: int, view: str, key: str | None, at: int | None, follow: bool, timeout: float, json_file: Path | None
) -> int:
    """Read an arrangement of a running group: all rows, or those of a key, as of one time on all workers.

    PROCESS is the number of the process that launched the group, or of one of its workers; VIEW the name by which the
    program, or an installed dataflow, exports the arrangement: `tokenring views PROCESS` lists them.

    A key in JSON is a list, such as '[null, "a, b"]': of texts with commas, and of a text that is null. Of other
    columns null alone is one, too.

    Rows come as a table on a terminal and as JSON lines elsewhere; the column `times` says how often each is there
    ("@times" where the rows have such a column). In JSON instants, dates and decimals are text, bytes are as Python
    writes them, b'\\xff', and NaN and infinities are null. The run goes on meanwhile.

    With --follow the rows come first, and then, whenever a time has finished at which rows changed, how: `times` says
    how much more often a row is there, below 0 if less. JSON lines have the `time`, too ("@time" where there is such a
    column); with --json each line is an object of a time and all its rows. It ends with the run, status 0, or by
    Ctrl-C, status 130.
    """
    from tokenring.engine.ask import group_of
    from tokenring.operators.collections import query as read
    from tokenring.tools.programs import print_returned

    wanted = None if key is None else _key_in(key)
    if follow:
        return _follow(process, view, wanted, at, timeout, json_file)
    with asking():
        answer = read(group_of(process), view, at, wanted, timeout)
    if json_file is not None:
        write_json(json_file, _as_json(view, answer))
    if json_file != STANDARD_OUTPUT:
        click.echo(f"{view} at {answer.time}: {answer.rows.num_rows:,} rows", err=True)
        print_returned([answer.rows])
    return 0


def _key_in(text: str) -> list[Any]:
    """The values of a key that is written with commas between, or in JSON."""
    if text.startswith("["):
        with suppress(json.JSONDecodeError):  # a text may begin so, too
            return list(json.loads(text))
    return text.split(",")


def _follow(
    process: int, view: str, key: list[Any] | None, at: int | None, timeout: float, json_file: Path | None
) -> int:
    """Print rows, and how they change; the exit status."""
    from tokenring.engine.ask import group_of
    from tokenring.operators.collections import subscribe

    try:
        with (
            ending_signals_raise(), asking(), closing(subscribe(group_of(process), view, at, key, timeout)) as told,
            json_lines(json_file) as write,
        ):  # fmt: skip
            for number, answer in enumerate(told):
                write(_as_json(view, answer))
                if json_file != STANDARD_OUTPUT:
                    _print_answer(view, answer, number == 0)
    except Ended as ended:
        if ended.number != signal.SIGINT:
            raise
        return ended.exit_status
    except BrokenPipeError:  # whoever read it has enough
        lose_output()
        return _NOBODY_READS
    return 0


def _print_answer(view: str, answer: Answer, is_first: bool) -> None:
    """Print what there is at a time, or what changes."""
    import pyarrow as pa

    from tokenring.tools.programs import print_returned

    rows = answer.rows
    if sys.stdout.isatty():
        click.echo(f"{view} at {answer.time}: {rows.num_rows:,} {'rows' if is_first else 'changes'}", err=True)
    else:
        name = "@time" if "time" in rows.column_names else "time"
        rows = rows.add_column(0, name, pa.array([answer.time] * rows.num_rows, pa.int64()))
    print_returned([rows])


def _as_json(view: str, answer: Answer) -> dict[str, Any]:
    from tokenring.tools.programs import told

    return {"view": view, "time": answer.time, "rows": told(answer.rows).to_pylist()}
