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
    _stop()  # a command whose further options were wrong has left its own
    if wanted:
        _LOGGER.addHandler(_Lines(logging.INFO))
        _LOGGER.setLevel(logging.INFO)
        context.call_on_close(_stop)


def _stop() -> None:
    """Say nothing more."""
    for handler in [one for one in _LOGGER.handlers if isinstance(one, _Lines)]:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(logging.NOTSET)


verbose_option = click.option(
    "--verbose", is_flag=True, expose_value=False, callback=_listen,
    help="Say what limits the number of workers, which cores they run on, and whether they spin there.",
)  # fmt: skip
