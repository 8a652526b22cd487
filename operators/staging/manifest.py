"""The manifest of a staged table: its schema and order, what is proved of its columns, the checksums of its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from tokenring.engine import UsageError

if TYPE_CHECKING:
    import xxhash

FORMAT: Final = "tokenring-table"
VERSION: Final = 2
NAME: Final = "manifest.json"
AGAIN: Final = "stage it again with `tokenring stage`"
WORD: Final = np.dtype("<i8")
BLOCK_ROWS: Final = 1 << 14
"""The words of so many rows have a checksum in a file of sums."""
BLOCK_BYTES: Final = BLOCK_ROWS * WORD.itemsize
SUM: Final = np.dtype("<u8")


def checksum_of(content: xxhash.xxh3_64) -> str:
    """A file's checksum as the manifest has it."""
    return f"xxh3_64:{content.hexdigest()}"


def write_manifest(folder: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Write a table's manifest, whose checksum seals it; returns all of it."""
    manifest = {"format": FORMAT, "version": VERSION, "byte_order": "little", **content}
    manifest["checksum"] = _checksum(manifest)
    (folder / NAME).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """A table's manifest. UsageError, with the cure, for a folder without one, another version, or one that was changed
    since it was written.
    """
    path = folder / NAME
    try:
        manifest = orjson.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{folder} holds no staged table (no {NAME}); make it with `tokenring stage`") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{path}: not JSON ({error}); {AGAIN}") from None
    form = manifest.get("format") if isinstance(manifest, dict) else None
    if form != FORMAT:
        raise UsageError(f"{path}: not a staged table's manifest (its format is {form!r}, not {FORMAT!r}); {AGAIN}")
    if manifest.get("version") != VERSION:
        raise UsageError(f"{path}: version {manifest.get('version')!r}, this TokenRing reads {VERSION}; {AGAIN}")
    if manifest.get("checksum") != _checksum(manifest):
        raise UsageError(f"{path}: its checksum does not hold, so it was changed or damaged; {AGAIN}")
    return manifest


def _checksum(manifest: dict[str, Any]) -> str:
    """xxh3_64 over the manifest without its own checksum, keys sorted."""
    import xxhash

    body = {key: value for key, value in manifest.items() if key != "checksum"}
    return xxhash.xxh3_64_hexdigest(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
