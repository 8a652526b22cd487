"""The `tokenring` command: a subcommand a file."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.commands.cli import SETTINGS, LazyGroup, main
    from tokenring.nexmark.commands.run import MAX_DURATION_S, MAX_RATE, MAX_WORKERS, MECHANISMS
