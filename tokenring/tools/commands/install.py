"""`tokenring install` and `tokenring remove`: dataflows of one's own in a group that runs already."""

from __future__ import annotations

import click

from tokenring.tools.commands.query import asking, timeout_option


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.argument("target", metavar="FILE.py:FUNCTION")
@click.option("--name", metavar="NAME", help="What to call the dataflow.  [default: the function's name]")
@timeout_option
def install(process: int, target: str, name: str | None, timeout: float) -> None:
    """Let a running group build another dataflow: FILE.py:FUNCTION, or package.module:FUNCTION.

    PROCESS is the number of the process that launched the group, or of one of its workers: `tokenring why` lists them.
    The function is called on each worker, with a scope; scope.import_arrangement(name) gives what the group keeps under
    a name (`tokenring views`), and what is there is used where it lies. A collection or an arrangement that it returns
    is kept under the dataflow's name, for `tokenring query`.

    All workers build it, or none: what the function raises is printed here, and the group goes on. Where the run keeps
    snapshots, this returns once one has it; if none could be taken, or not in time, it says that, and the next one has
    it.
    """
    from tokenring.engine.ask import group_of
    from tokenring.engine.group import warm_up
    from tokenring.engine.install import code_of
    from tokenring.engine.install import install as install_in
    from tokenring.tools.programs import load

    load(target)
    code = code_of(target)
    warm_up()  # what it needs is ready when the workers load it
    name = code.function if name is None else name
    with asking():
        why = install_in(group_of(process), code, name, timeout)
    unsaved = f", and not saved yet, so a death before the next snapshot loses it: {why}" if why else ""
    click.echo(f"installed {name}{unsaved}")


@click.command()
@click.argument("process", type=click.IntRange(min=1))
@click.argument("name")
@timeout_option
def remove(process: int, name: str, timeout: float) -> None:
    """End a dataflow that was installed in a running group, and let go what it kept. Where the run keeps snapshots, one
    more is taken, and what its sinks had by then goes to their folders and tables first.

    PROCESS is the number of the process that launched the group, or of one of its workers; NAME what the dataflow was
    installed as: `tokenring views PROCESS` lists them.
    """
    from tokenring.engine.ask import group_of
    from tokenring.engine.install import remove as remove_from

    with asking():
        remove_from(group_of(process), name, timeout)
    click.echo(f"removed {name}")
