"""Files of lines, cut into blocks of bytes that workers read side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

MARK: Final = b"\xef\xbb\xbf"
"""What some programs begin a file in UTF-8 with, and is no part of its first line."""


class Block(NamedTuple):
    """Bytes of a file; the lines that begin in them belong to it."""

    file: str
    start: int
    stop: int


def blocks_of(files: Sequence[str], block_bytes: int) -> list[Block]:
    """Blocks of so many bytes of each file, in order."""
    return [
        Block(file, start, start + block_bytes)
        for file in files
        for start in range(0, Path(file).stat().st_size, block_bytes)
    ]


def lines_of(block: Block) -> tuple[int, bytes]:
    """Where the block's first line begins, and its lines."""
    with open(block.file, "rb") as file:
        if block.start:
            file.seek(block.start - 1)
            file.readline()  # belongs to the block before, or is the newline just before this one
        at = file.tell()
        data = file.read(max(0, block.stop - at))
        if data and not data.endswith(b"\n"):
            data += file.readline()
    return at, data


def lines_before(path: str, end: int) -> int:
    """How many lines end before a byte; for messages only."""
    with open(path, "rb") as file:
        return file.read(end).count(b"\n")
