"""`tokenring warm-up`: compiles every kernel there is, so that no program has to wait for it."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Final

import click

_HOUSE: Final = "tokenring"


@click.command("warm-up")
def warm_up() -> None:
    """Compile all kernels of TokenRing, about a minute's work, and keep them on disk.

    Programs compile what they use when they first run; after this they find it ready. Set-up calls it. A change of the
    sources, of numba or of the processor calls for it again, and is noticed.
    """
    from tokenring.engine.group import warm_up as make_ready

    for found in walk_packages(import_module(_HOUSE).__path__, f"{_HOUSE}."):
        import_module(found.name)
    if not make_ready():
        click.echo("all kernels were ready")
