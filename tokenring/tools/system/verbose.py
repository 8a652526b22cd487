"""`--verbose`: what the engine logs as it starts a group, a line each on stderr."""

from __future__ import annotations

import logging

import click

_LOGGER = logging.getLogger("tokenring")


class _Lines(logging.Handler):
    """Says what is logged where the command says all else; a progress bar makes room for it."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"tokenring: {self.format(record)}", err=True)


def _listen(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    handler, level = _Lines(logging.INFO), _LOGGER.level

    def stop() -> None:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(level)

    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.INFO)
    context.call_on_close(stop)


verbose_option = click.option(
    "--verbose", is_flag=True, expose_value=False, callback=_listen,
    help="Say which cores the workers run on, and whether they spin there.",
)  # fmt: skip
