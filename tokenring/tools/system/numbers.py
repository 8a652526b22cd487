"""Numbers as the values of options."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A range of numbers alone: NaN compares with nothing, so a plain range lets it through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        converted = super().convert(value, param, ctx)
        if math.isnan(converted):
            self.fail("nan is no number", param, ctx)
        return converted
