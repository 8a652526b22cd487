"""Files that a person asked for: refused early if they cannot be written; regular ones are written whole or not at
all, and what is no regular file (a FIFO, a device) is written into and stays what it is.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from tokenring.tools.errors import OptionError

STANDARD_OUTPUT: Final = Path("-")
"""What a person writes for standard output in a file's place."""


# As Linux has them; a name that a folder does not have yet is refused as well.
_NAME_BYTES: Final = 255
_PATH_BYTES: Final = 4096


class PathOption(click.ParamType[Path]):
    """The value of an option that names a file or folder: a Path that the system would take."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        text = os.fspath(value)
        if not text:
            self.fail("an empty path; name a file or folder", param, ctx)
        if "\0" in text:
            self.fail(f"{text!r} holds a NUL character, as no path can", param, ctx)
        try:
            octets = os.fsencode(text)
        except UnicodeEncodeError:
            self.fail(f"{text!r} holds what no path can", param, ctx)
        if len(octets) >= _PATH_BYTES or max(map(len, octets.split(b"/"))) > _NAME_BYTES:
            self.fail(f"{text[:40]}… is too long: a name has at most {_NAME_BYTES} bytes", param, ctx)
        return Path(text)


def require_writable(path: Path, option: str = "--json", json_file: Path | None = None) -> None:
    """Fail before hours of measuring, not after. json_file: what --json names besides, which would replace it."""
    try:
        target = path.resolve(strict=False)
        if json_file is not None and not is_special(path) and target == json_file.resolve():
            raise OptionError(f"{option} {path}: --json names the same file, and would replace it; name two files")
        if target.is_dir():
            raise OptionError(f"{option} {path}: it is a folder; name a file")
        if is_special(path):
            fault = "" if os.access(path, os.W_OK) else "it cannot be written to"  # a pipe has no resolved name
        else:
            is_there = target.parent.is_dir() and os.access(target.parent, os.W_OK)
            fault = "" if is_there else "its folder does not exist or cannot be written to; make it first"
    except (OSError, RuntimeError) as error:  # a name too long, links in a circle
        fault = getattr(error, "strerror", None) or str(error)
    if fault:
        raise OptionError(f"{option} {path}: {fault}")


def lose_output() -> None:
    """What is still to be written to standard output goes nowhere, lest the exit fail on it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def is_special(path: Path) -> bool:
    """Whether there is something, links followed, that is neither a regular file nor a folder."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def replace(path: Path, content: bytes) -> None:
    """Write a file, so that nobody sees a part of it."""
    replace_by(path, lambda temporary: temporary.write_bytes(content))


def replace_by(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written under another name and moved into place, or its bytes into what is no regular file.

    A symbolic link stays; what it points to is written.
    """
    from tokenring.engine.group import owned_file, remove_leftovers

    try:
        if is_special(path):
            with tempfile.TemporaryDirectory(prefix="tokenring-file-") as folder:
                whole = Path(folder) / "whole"
                write(whole)
                _pour(whole, path)
            return
        target = path.resolve()
        remove_leftovers(target.parent)
        with owned_file(target) as temporary:
            write(temporary)
            os.replace(temporary, target)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error


def _pour(whole: Path, path: Path) -> None:
    """Write a file's bytes into a FIFO or device. A FIFO that nobody reads is waited for, as a shell does, and said."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
    except OSError as error:
        if error.errno != errno.ENXIO or not stat.S_ISFIFO(path.stat().st_mode):
            raise
        click.echo(f"tokenring: waiting for somebody to read {path}", err=True)
        descriptor = os.open(path, os.O_WRONLY)
    with open(whole, "rb") as source, open(descriptor, "wb") as sink:
        shutil.copyfileobj(source, sink)
