"""`tokenring views` and `tokenring query`: what a running group keeps under names, and the rows of one as of a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system import STANDARD_OUTPUT, json_option, write_json

timeout_option = click.option("--timeout", type=click.FloatRange(0.1, 3600), default=5.0, show_default=True,
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
    from tokenring.operators.collections import views_of

    with asking():
        found = views_of(group_of(process), timeout)
    if json_file is not None:
        write_json(json_file, found._asdict())
    if json_file == STANDARD_OUTPUT:
        return
    for view in found.views:
        kinds = view["columns"]
        key = ", ".join([f"{name} {kinds[name]}" for name in view["key"]])
        values = ", ".join([f"{name} {kind}" for name, kind in kinds.items() if name not in view["key"]])
        upto = "the end" if view["upper"] is None else f"{view['upper'] - 1}"
        click.echo(f"{view['name']}: key {key}; values {values or 'none'}; of dataflow {view['dataflow']!r}")
        readers = ", ".join([repr(reader) for reader in view["readers"]]) or "nobody"
        click.echo(
            f"    {view['rows']:,} rows in {view['batches']:,} batches, {view['bytes']:,} bytes; readable from "
            f"{view['since']} to {upto}; imported by {readers}"
        )
    if not found.views:
        click.echo("no arrangement is exported")
    if found.installed:
        click.echo(f"installed: {', '.join(found.installed)}")


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.argument("view")
@click.option("--key", metavar="K", help="Only the rows of this key: 7, or for several columns 7,Oslo.")
@click.option("--time", "at", type=int, metavar="T", help="As of this time.  [default: the latest finished one]")
@timeout_option
@json_option("the rows, and as of when,")
def query(process: int, view: str, key: str | None, at: int | None, timeout: float, json_file: Path | None) -> None:
    """Read an arrangement of a running group: all rows, or those of a key, as of one time on all workers.

    PROCESS is the number of the process that launched the group, or of one of its workers; VIEW the name by which the
    program, or an installed dataflow, exports the arrangement: `tokenring views PROCESS` lists them.

    Rows come as a table on a terminal and as JSON lines elsewhere; the column `times` says how often each is there. The
    run goes on meanwhile.
    """
    from tokenring.engine.ask import group_of
    from tokenring.operators.collections import query as read
    from tokenring.tools.programs import print_returned

    with asking():
        answer = read(group_of(process), view, at, None if key is None else key.split(","), timeout)
    if json_file is not None:
        write_json(json_file, {"view": view, "time": answer.time, "rows": answer.rows.to_pylist()})
    if json_file == STANDARD_OUTPUT:
        return
    click.echo(f"{view} at {answer.time}: {answer.rows.num_rows:,} rows", err=True)
    print_returned([answer.rows])
