"""Files of outcomes and figures: refused early if they cannot be written, and written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from nexmark.errors import OptionError


def require_writable(path: Path) -> None:
    """Fail before hours of measuring, not after."""
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise OptionError(f"--json {path}: its folder does not exist or cannot be written to; make it first")


def replace(path: Path, content: bytes) -> None:
    """Write a file, so that nobody sees a part of it."""
    replace_by(path, lambda temporary: temporary.write_bytes(content))


def replace_by(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written under another name and move it into place."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)
