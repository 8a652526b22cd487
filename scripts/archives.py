"""Unpacks tar files, with the filter that leaves nothing outside of the folder where Python has it: from 3.11.4 on."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

_SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def unpack(tar: tarfile.TarFile, into: Path) -> None:
    """All members of an open archive, below a folder."""
    tar.extractall(into, **_SAFELY)
