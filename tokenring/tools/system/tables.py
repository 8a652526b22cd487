"""Tables for people: as wide as the terminal, and no figure is cut off."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

PIPE_WIDTH: Final = 120
"""Of what is no terminal; a table whose figures need more gets more."""
_TEXT_WIDTH: Final = 10  # that a column of texts keeps


def console_of(err: bool = False) -> Console:
    """A console on standard output, or on stderr, as wide as its terminal."""
    from rich.console import Console

    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    return Console(stderr=err, width=None if is_terminal else PIPE_WIDTH, highlight=is_terminal)


def print_table(table: Table, console: Console) -> None:
    """Print a table. What is too wide is folded: texts and headings first, figures (columns to the right) if a terminal
    has no room for them."""
    needed = _fit(table, console.width)
    if needed > console.width and not console.is_terminal:
        console.width = needed
        _fit(table, needed)
    console.print(table)


def _fit(table: Table, width: int) -> int:
    """Give columns their widths, so that the table has this one if it can; returns the least that figures need."""
    for column in table.columns:
        column.overflow, column.width = "fold", None
    around = 3 * len(table.columns) + 1
    if around + sum(_width(column, str(column.header)) for column in table.columns) <= width:
        return width
    figures = [column for column in table.columns if column.justify == "right"]
    texts = sum(min(_TEXT_WIDTH, _width(column)) for column in table.columns if column.justify != "right")
    needed = 0
    for headings in (True, False):
        widths = [_width(column, *(str(column.header).split() if headings else ())) for column in figures]
        needed = around + texts + sum(widths)
        if needed <= width:
            for column, own in zip(figures, widths, strict=True):
                column.width = own
            break
    return needed


def _width(column: Column, *besides: str) -> int:
    from rich.cells import cell_len

    return max([1, *[cell_len(str(one)) for one in (*column.cells, *besides)]])
