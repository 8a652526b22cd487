"""`--memory`: what a group may take, as people write sizes."""

from __future__ import annotations

from typing import Any

import click


class _Size(click.ParamType[int]):
    """A size of memory; its value is bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from tokenring.engine import ConfigError
        from tokenring.engine.budget import bytes_of

        try:
            return value if isinstance(value, int) else bytes_of(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


memory_option = click.option(
    "--memory", type=_Size(), metavar="SIZE",
    help="What the run may take, as 4G or 512M: near it sources pause, and state that does not fit is an error.  "
    "[default: $TOKENRING_MEMORY, else no limit]",
)  # fmt: skip
