"""The manifest of a staged folder: what is in it, how it was made, and the checksums that prove it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson
import xxhash

from tokenring.nexmark.errors import StagedError

FORMAT: Final = "tokenring-nexmark"
VERSION: Final = 2
NAME: Final = "manifest.json"
BYTE_ORDER: Final = "little"


def content_digest(streams: dict[str, Any], events: int) -> str:
    """Names the events themselves: equal for equal columns, however many partitions or part files made them."""
    content: list[Any] = [FORMAT, VERSION, events]
    for stream in sorted(streams):
        columns = streams[stream]["columns"]
        checksums = [
            [name, columns[name]["checksum"], columns[name].get("heap", {}).get("checksum")] for name in sorted(columns)
        ]
        content.append([stream, streams[stream]["rows"], checksums])
    return xxhash.xxh3_64_hexdigest(orjson.dumps(content))


def manifest_checksum(manifest: dict[str, Any]) -> str:
    """xxh3_64 over the manifest without its own checksum, keys sorted."""
    body = {key: value for key, value in manifest.items() if key != "checksum"}
    return xxhash.xxh3_64_hexdigest(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))


def write_manifest(folder: Path, events: int, streams: dict[str, Any], origin: dict[str, Any]) -> dict[str, Any]:
    """Writes the manifest; `origin` says how the events were made (rate, seed, generator or source)."""
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "byte_order": BYTE_ORDER,
        "events": events,
        **origin,
        "streams": streams,
        "digest": content_digest(streams, events),
    }
    manifest["checksum"] = manifest_checksum(manifest)
    (folder / NAME).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """Reads and checks a manifest: that it is one, of this version, and unchanged since it was written."""
    path = folder / NAME
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise StagedError(f"{folder} holds no staged events (no {NAME}); make them with `tokenring stage`") from None
    except OSError as error:
        raise StagedError(f"{path}: cannot be read ({error.strerror})") from None
    return parse_manifest(raw, str(path))


def parse_manifest(raw: bytes | str, path: str) -> dict[str, Any]:
    """The same of what has been read from `path`."""
    again = "stage the events again with `tokenring stage`"
    try:
        manifest = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise StagedError(f"{path}: not JSON ({error}); {again}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StagedError(f"{path}: not a manifest of staged events (format is not {FORMAT!r}); {again}")
    if manifest.get("version") != VERSION:
        raise StagedError(f"{path}: version {manifest.get('version')!r}, this TokenRing reads {VERSION}; {again}")
    if manifest.get("checksum") != manifest_checksum(manifest):
        raise StagedError(f"{path}: its checksum does not hold, so it was changed or damaged; {again}")
    return manifest
