"""`tokenring warm-up`: compiles every kernel that is not in the library, so that no program has to wait for it."""

from __future__ import annotations

import click

from tokenring.tools.errors import CommandError


@click.command("warm-up")
def warm_up() -> None:
    """Compile the kernels that are not in the library that came with TokenRing, and keep them on disk.

    Those are kernels whose sources have changed since, or all where there is no library for this processor, some two
    minutes' work. Programs compile what they need when they first run; after this they find it ready.
    """
    from tokenring.engine.errors import KernelError
    from tokenring.engine.group import warm_up as make_ready
    from tokenring.engine.kernel_library import import_everything

    import_everything()
    try:
        compiled = make_ready()
    except KernelError as error:
        raise CommandError(str(error)) from None
    if not compiled:
        click.echo("all kernels were ready")
