"""`tokenring kernels`: which library of kernels is in use, and making it anew."""

from __future__ import annotations

from pathlib import Path

import click

from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system import STANDARD_OUTPUT, json_option, write_json


@click.command()
@click.option("--make", is_flag=True, help="Make the library anew: a minute, and numba and a linker are needed.")
@click.option("--level", "levels", multiple=True, metavar="NAME",
              help="With --make: a level of processor, or all; otherwise the best that this one has.")  # fmt: skip
@click.option("--machine", metavar="NAME", default="", help="With --make: x86_64 or aarch64; otherwise this one.")
@json_option("which library it is, and what has changed since,")
def kernels(make: bool, levels: tuple[str, ...], machine: str, json_file: Path | None) -> None:
    """Say which library of compiled kernels programs take here, or why none.

    The library comes with the package, or is made when a checkout is installed. Kernels whose sources have changed
    since are compiled by numba when a program starts, and kept; --make puts them into the library.
    """
    from tokenring.engine.kernel_library import library

    if (levels or machine) and not make:
        raise OptionError("--level and --machine say what is made: give --make")
    if make:
        _make(levels, machine)
        library.cache_clear()
    found, why = library()
    changed = found.changed() if found is not None else []
    told = {"level": why if found is not None else None, "kernels": len(found.kernels) if found is not None else 0}
    if json_file is not None:
        write_json(json_file, told | {"changed": changed, "why": "" if found else why})
    if json_file == STANDARD_OUTPUT:
        return
    if found is None:
        click.echo(f"no library is used: {why}; numba compiles kernels when they are first needed")
    else:
        click.echo(f"{len(found.kernels)} kernels for {why}")
        for module in changed:
            click.echo(f"changed since, and compiled by numba: {module}")


def _make(levels: tuple[str, ...], machine: str) -> None:
    from tokenring.engine import KernelError, UsageError
    from tokenring.engine.kernel_library import make as make_them
    from tokenring.tools.system import progress_bar

    try:
        with progress_bar() as advance:
            make_them(levels, machine, lambda done, of: advance("kernels", done, of))
    except UsageError as error:
        raise OptionError(str(error)) from None
    except KernelError as error:
        raise CommandError(str(error)) from None
