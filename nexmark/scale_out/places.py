"""Where data lies that Spark is to read: on this machine, or wherever Hadoop's file systems reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenring.nexmark.spark import plain_path

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def scheme_of(place: str) -> str:
    """A URI's scheme; "" of a path."""
    scheme = _URI.match(place)
    return "" if scheme is None else scheme.group()[:-1]


def is_of_site(place: str) -> bool:
    """Whether it lies on other machines, and Hadoop's settings for them are to hold."""
    return scheme_of(place) not in ("", "file")


@contextmanager
def readable(place: str) -> Iterator[str]:
    """The same as Spark understands it: a path of this machine by a plain name, whatever Spark's default. A pattern
    stays one."""
    path = Path(place).absolute()
    if scheme_of(place):
        yield place
    elif not path.exists():
        yield f"file://{path}"
    else:
        with plain_path(path) as plain:
            yield f"file://{plain}"
