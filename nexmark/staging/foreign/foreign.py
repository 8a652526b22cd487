"""Finds out what a source of foreign events is, checks all of it, and writes it down in one plain shape."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tokenring.nexmark.errors import ForeignDataError
from tokenring.nexmark.events import AUCTION, BID, STREAMS
from tokenring.nexmark.staging.foreign.checks import Intake
from tokenring.nexmark.staging.foreign.json_lines import SUFFIXES, json_files, read_json_lines
from tokenring.nexmark.staging.foreign.parquet import part_files, read_parquet, total_rows
from tokenring.nexmark.staging.foreign.raw_rows import RawRows

_BYTES_PER_ROW = 250
_COPIES = 3


@dataclass(frozen=True)
class Source:
    """Foreign events on disk: Parquet files by stream, or JSON-lines files."""

    path: Path
    parquet: dict[str, list[Path]]
    jsonl: list[Path]

    @property
    def format(self) -> str:
        return "parquet" if self.parquet else "jsonl"

    def size(self) -> tuple[int, int]:
        """How much there is to read (rows of Parquet, bytes of JSON), and the disk space that staging it takes."""
        files = self.jsonl or [file for files in self.parquet.values() for file in files]
        source_bytes = sum(os.stat(file).st_size for file in files)
        if self.jsonl:
            return source_bytes, _COPIES * source_bytes
        rows = sum(total_rows(files) for files in self.parquet.values())
        return rows, max(rows * _BYTES_PER_ROW, _COPIES * source_bytes)


def find_source(path: Path, out: Path) -> Source:
    """Looks at a path and says what is there."""
    if not path.exists():
        raise ForeignDataError(f"--from {path}: no such file or folder")
    source, target = path.resolve(), out.resolve()
    if source == target:
        raise ForeignDataError(f"--from and --out are the same folder {path}; choose another --out")
    if target in source.parents:
        raise ForeignDataError(f"--from {path} lies within --out {out}; choose another --out")
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise ForeignDataError(
                f"--from {path}: a single file of NEXMark events must be JSON lines (*.jsonl); give a folder for "
                f"Parquet, or --time COLUMN if it is a table of yours"
            )
        return Source(path, {}, [path])
    if not path.is_dir():  # a FIFO, a device: it can be read once, and is read more than once
        raise ForeignDataError(
            f"--from {path}: neither a folder nor a plain file; write what comes out of it into a file *.jsonl first"
        )
    lines = json_files(path)
    present = [name for name in STREAMS if (path / f"{name}.parquet").exists()]
    if lines and present:
        raise ForeignDataError(f"--from {path}: holds both {present[0]}.parquet and {lines[0].name}; keep one kind")
    if lines:
        return Source(path, {}, lines)
    if not present:
        raise ForeignDataError(f"--from {path}: holds neither bid.parquet and auction.parquet nor *.jsonl")
    for needed in (BID.name, AUCTION.name):
        if needed not in present:
            raise ForeignDataError(
                f"{path / needed}.parquet: the file is missing; bid.parquet and auction.parquet must both be there"
            )
    return Source(path, {name: part_files(path / f"{name}.parquet") for name in present}, [])


def normalise(source: Source, unit: str, folder: Path, advanced: Callable[[int], None]) -> list[RawRows]:
    """Checks every row and writes them into files of the folder; returns the streams by rank."""
    intake = Intake(folder)
    try:
        for name, files in source.parquet.items():
            read_parquet(files, STREAMS[name], unit, intake, advanced)
        for file in source.jsonl:
            read_json_lines(file, unit, intake, advanced)
        return intake.finish()
    except PermissionError as error:
        raise ForeignDataError(f"{error.filename}: cannot be read ({error.strerror})") from None
    finally:
        intake.close()
