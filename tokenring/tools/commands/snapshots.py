"""`tokenring snapshots`: what a job's folder holds, whether it is whole, and the state of operators in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokenring.tools.errors import OptionError
from tokenring.tools.system import (
    STANDARD_OUTPUT,
    PathOption,
    console_of,
    json_option,
    print_table,
    replace_by,
    require_writable,
    write_json,
)

if TYPE_CHECKING:
    from tokenring.operators.recovery import JobFolder


@click.command()
@click.argument("folder", metavar="DIR", type=PathOption())
@click.option("--operators", is_flag=True, help="List operators with state, their tables, rows and bytes instead.")
@click.option("--export", nargs=2, metavar="OPERATOR FILE",
              help="Write what an operator kept to FILE, as an Arrow IPC file; where it has several tables, a file "
              "each, with the table's number before FILE's suffix.")  # fmt: skip
@click.option("--number", type=click.IntRange(1), metavar="N",
              help="Of which snapshot, for --operators and --export.  [default: the newest that is whole]")  # fmt: skip
@click.option("--prune", type=click.IntRange(1), metavar="N",
              help="Remove all that is older than the N newest snapshots that are whole.")  # fmt: skip
@json_option("the list, or what was done,")
def snapshots(
    folder: Path, operators: bool, export: tuple[str, str] | None, number: int | None, prune: int | None,
    json_file: Path | None,
) -> None:  # fmt: skip
    """List the snapshots of a job, the newest first, and say whether they are whole: all files are read for that.

    DIR is what the run has as --recovery, or recovery=. Nothing is changed there, but for --prune, which needs that no
    run holds the folder (a run prunes by itself). `tokenring run --recovery DIR --from N` goes back to one.
    """
    from tokenring.operators.recovery import JobFolder

    if operators + (export is not None) + (prune is not None) > 1:
        raise OptionError("--operators, --export and --prune are three things: give one of them")
    if number is not None and not operators and export is None:
        raise OptionError("--number says of which snapshot, for --operators or --export: give one of them")
    job = JobFolder(folder)
    with _refusing():
        job.require()
        if prune is not None:
            done: Mapping[str, Any] = {"removed": job.prune_whole(prune)}
        elif operators:
            done = _operators(job, number)
        elif export is not None:
            done = _export(job, number, *export, json_file)
        else:
            done = _listing(job)
    if json_file is not None:
        write_json(json_file, done)
    if json_file == STANDARD_OUTPUT:
        return
    if prune is not None:
        click.echo(f"removed: {', '.join(map(str, done['removed'])) or 'nothing'}")
    elif operators:
        _print_operators(done)
    elif export is not None:
        for file in done["files"]:
            click.echo(f"{file['file']}: {file['rows']:,} rows of {done['operator']!r} at snapshot {done['number']}")
    else:
        _print_listing(done)


@contextmanager
def _refusing() -> Iterator[None]:
    from tokenring.engine import RecoveryError

    try:
        yield
    except RecoveryError as error:
        raise OptionError(str(error)) from None
    except OSError as error:
        raise OptionError(f"{error.filename}: {error.strerror}") from None


def _listing(job: JobFolder) -> dict[str, Any]:
    from tokenring.operators.recovery import number_of

    found = job.all()
    newest = next((snapshot for _, snapshot, _ in found if snapshot is not None), None)
    listed: list[dict[str, Any]] = []
    for path, snapshot, problem in found:
        one: dict[str, Any] = {"number": number_of(path), "whole": snapshot is not None, "problem": problem}
        if snapshot is not None:
            manifest = snapshot.manifest
            one |= {
                "made_at": manifest["made_at"], "time": manifest["time"], "finished": snapshot.is_end,
                "rows": snapshot.rows, "bytes": snapshot.bytes, "new_bytes": snapshot.new_bytes,
                "workers": len(manifest["workers"]), "shares": manifest["shares"],
            }  # fmt: skip
        listed.append(one)
    return {
        "folder": str(job.path), "finished": newest is not None and newest.is_end, "results_up_to": job.appeared,
        "process": job.holder or None, "snapshots": listed, "dead_letters": _dead_letters(job),
    }  # fmt: skip


def _dead_letters(job: JobFolder) -> list[dict[str, Any]]:
    """The rows that operators failed at, and where they are."""
    import pyarrow.parquet as pq

    from tokenring.operators.recovery import dead_letters_in, gives_up

    found = []
    for folder in dead_letters_in(job.path):
        rows = sum([pq.read_metadata(path).num_rows for path in folder.glob("part-*.parquet")])
        found.append({"operator": gives_up(folder), "rows": rows, "folder": str(folder)})
    return found


def _operators(job: JobFolder, number: int | None) -> dict[str, Any]:
    from tokenring.operators.recovery import operators_of

    snapshot = job.snapshot(number or 0)
    return {"number": snapshot.number, "operators": operators_of(snapshot)}


def _export(job: JobFolder, number: int | None, operator: str, file: str, json_file: Path | None) -> dict[str, Any]:
    from tokenring.operators.recovery import require_operator, write_state

    snapshot = job.snapshot(number or 0)
    tables = require_operator(snapshot, operator)
    written = []
    for table in tables:
        path = Path(file)
        if tables != [0]:
            path = path.with_name(f"{path.stem}.{table}{path.suffix}")
        require_writable(path, "--export", json_file)
        rows = []
        replace_by(path, lambda temporary: rows.append(write_state(snapshot, operator, table, temporary)))  # noqa: B023
        written.append({"file": str(path), "table": table, "rows": rows[0]})
    return {"number": snapshot.number, "operator": operator, "files": written}


def _print_listing(done: Mapping[str, Any]) -> None:
    from rich.table import Table

    if done["snapshots"]:
        table = Table()
        for name in ("number", "made at", "time", "rows", "bytes", "new bytes", "workers", "shares", "whole"):
            table.add_column(name, justify="left" if name in ("made at", "whole") else "right")
        for one in done["snapshots"]:
            table.add_row(str(one["number"]), *(_told(one) if one["whole"] else [""] * 7), _state(one))
        print_table(table, console_of())
    else:
        click.echo("no snapshot yet")
    for one in done["snapshots"]:
        if one["problem"]:
            click.echo(f"snapshot {one['number']} cannot be used: {one['problem']}")
    results = f"results up to snapshot {done['results_up_to']} have appeared" if done["results_up_to"] else "no results"
    state = "the job is finished" if done["finished"] else "the job is not finished"
    held = f"process {done['process']} runs it now" if done["process"] else "no run holds the folder"
    click.echo(f"{state}; {results}; {held}")
    for one in done["dead_letters"]:
        click.echo(f"dead letters: {one['rows']:,} rows of operator {one['operator']!r} in {one['folder']}")


def _told(one: Mapping[str, Any]) -> list[str]:
    made_at = datetime.fromisoformat(one["made_at"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    time = "the end" if one["finished"] else "" if one["time"] is None else str(one["time"])
    return [made_at, time, *[f"{one[name]:,}" for name in ("rows", "bytes", "new_bytes", "workers", "shares")]]


def _state(one: Mapping[str, Any]) -> str:
    return "yes" if one["whole"] else "NO"


def _print_operators(done: Mapping[str, Any]) -> None:
    click.echo(f"snapshot {done['number']}")
    for operator in done["operators"]:
        if not operator["tables"]:
            click.echo(f"    {operator['name']}: no rows")
        for table in operator["tables"]:
            which = f", table {table['table']}" if len(operator["tables"]) > 1 or table["table"] else ""
            columns = ", ".join([f"{name} {kind}" for name, kind in table["columns"].items()])
            click.echo(f"    {operator['name']}{which}: {table['rows']:,} rows, {table['bytes']:,} bytes; {columns}")
    if not done["operators"]:
        click.echo("    no operator with state")
