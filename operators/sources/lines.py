"""Files of lines, cut into blocks of bytes that workers read side by side."""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import BinaryIO, Final, NamedTuple

from tokenring.engine import Batch, SchemaError, UsageError
from tokenring.engine.columns import instant_of
from tokenring.operators.sources.files import REPLACED, UNTIL_READ, small_together
from tokenring.operators.time import RowOrigin

MARK: Final = b"\xef\xbb\xbf"
"""What some programs begin a file in UTF-8 with, and is no part of its first line."""

BLOCK_BYTES: Final = 1 << 18
_AT_ONCE: Final = 1 << 20
"""So many bytes are read at once: a block of 256 KiB takes Arrow's readers half as long again as a part of four. Who
asks for smaller blocks asks for small messages."""

_SMALL_BYTES: Final = 1 << 15
"""Files of up to so many are read with others: see `small_together`."""
_END_BYTES: Final = 256  # of what a file was
_PACKED: Final = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh91AY&": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip",
    b"\x04\x22\x4d\x18": "lz4", b"\xff\x06\x00\x00sNaP": "snappy",
}  # fmt: skip
_OF_ARROW: Final = {b"PAR1\x15": "read_parquet", b"ARROW1\x00\x00": "read_arrow"}
_MARKS: Final = {
    b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip
"""The longer ones first."""


def no_text(path: str) -> str:
    """Why a file is none of UTF-8, by its first bytes, of which no text in UTF-8 has the like, and the cure; "" for
    others."""
    with open(path, "rb") as file:
        first = file.read(8)
    for begin, how in _PACKED.items():
        if first.startswith(begin):
            return f"the file is packed ({how}), and files are read at several places at once: unpack it"
    for begin, reader in _OF_ARROW.items():
        if first.startswith(begin):
            return f"the file has no lines of text: {reader} is for it"
    for begin, form in _MARKS.items():
        if first.startswith(begin):
            return f"the file is in {form}: convert it (iconv -f {form} -t UTF-8)"
    empty = {
        "UTF-32LE": first[1:4] + first[5:], "UTF-32BE": first[:3] + first[4:7],
        "UTF-16LE": first[1::2], "UTF-16BE": first[::2],
    }  # fmt: skip
    for form, octets in empty.items():
        if len(first) == 8 and any(first) and not any(octets):
            return f"the file is in {form[:6]}, without a mark: convert it (iconv -f {form} -t UTF-8)"
    return ""


def not_utf_8(path: str) -> str:
    """What to say of a file whose bytes are no UTF-8: what it is, and the cure."""
    return no_text(path) or "this is not in UTF-8: convert the file (from latin-1: iconv -f LATIN1 -t UTF-8)"


def is_instant(text: str) -> bool:
    """Whether a text is a time that a timestamp holds."""
    try:
        instant_of(text)
    except SchemaError:
        return False
    return True


def number_as_time(column: str) -> str:
    """The cure for numbers where times are to be."""
    return f'make it int64, and say (col("{column}") * 1_000_000).cast("timestamp") if it is of ms'


def of_value(fault: Exception) -> str:
    """What is wrong with the one value of a batch: its row there is none of the file."""
    return str(fault).replace(": row 0 holds", ": it holds", 1)


class _Seen(NamedTuple):
    """What a file was when it was cut. end: its last bytes, by which another one is told that has its number."""

    stat: os.stat_result
    end: bytes


class Block(NamedTuple):
    """Bytes of a file; the lines that begin in them belong to it. was: the file when it was cut. number: the file's, of
    those that are read; one that is named twice has two."""

    file: str
    start: int
    stop: int
    was: _Seen
    number: int

    @property
    def size(self) -> int:
        """How many bytes."""
        return self.stop - self.start

    @property
    def turn(self) -> int:
        """Whose it is, of those who read the files: which of its file's it is, from the file's number on, so that what
        is appended to one file changes nothing in others."""
        return self.number + self.start // self.size


def blocks_of(files: Sequence[str], block_bytes: int | None) -> list[Block]:
    """Blocks of so many bytes of each file, in order; None: of all that it has. UsageError for a file that cannot be
    read."""
    return [
        Block(file, start, start + size, was, number)
        for number, file in enumerate(files)
        for was in [_seen(file)]
        for size in [block_bytes or was.stat.st_size or 1]
        for start in range(0, was.stat.st_size, size)
    ]


def _seen(path: str) -> _Seen:
    try:
        with open(path, "rb") as file:
            stat = os.fstat(file.fileno())
            return _Seen(stat, _end_of(file, stat.st_size))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _end_of(file: BinaryIO, size: int) -> bytes:
    """The last bytes of the first so many."""
    file.seek(max(0, size - _END_BYTES))
    return file.read(min(size, _END_BYTES))


def turns_of(files: Sequence[str]) -> dict[str, str]:
    """What a source says of how several files are dealt: a run that dealt them block by block has read other rows."""
    return {"turns": "by file"} if len(files) > 1 else {}


def paths_of(files: Sequence[str]) -> list[str]:
    """Where the files are, whatever is appended to them."""
    return [repr(os.path.abspath(file)) for file in files]


class Lines(NamedTuple):
    """Lines of a file, whole ones, and at which byte of it they begin."""

    at: int
    data: bytes


def taken_at_once(
    blocks: Sequence[Block], share: int, shares: int, first: int = 0
) -> Iterator[tuple[list[Block], int]]:
    """One share's blocks from number `first` of all on, some of one file at once, and the number behind them."""
    mine = [number for number in range(first, len(blocks)) if blocks[number].turn % shares == share]
    for _, numbers in groupby(mine, lambda number: blocks[number].number):
        waiting = list(numbers)
        size = blocks[waiting[0]].size
        many = max(1, _AT_ONCE // size) if size >= BLOCK_BYTES else 1
        for start in range(0, len(waiting), many):
            taken = waiting[start : start + many]
            yield [blocks[number] for number in taken], taken[-1] + 1


def taken_together(
    blocks: Sequence[Block], share: int, shares: int, first: int, most: int, kind: Callable[[str], object]
) -> Iterator[tuple[list[Block], int]]:
    """The same, small files of one kind that follow each other at once, up to `most` bytes of all of them."""

    def size(turn: tuple[list[Block], int]) -> int:
        return turn[0][0].was.stat.st_size

    def kind_of(turn: tuple[list[Block], int]) -> object:
        return kind(turn[0][0].file)

    for run in small_together(taken_at_once(blocks, share, shares, first), size, _SMALL_BYTES, most, kind_of):
        yield [block for taken, _ in run for block in taken], run[-1][1]


Read = tuple[Batch, RowOrigin] | None
"""Rows, and where each is; None if there are none."""


def read_together(read: Callable[[list[Block]], Read], blocks: list[Block]) -> Read:
    """What `read` makes of blocks of one file; of several the same rows, and where it fails what it says of one."""
    files = [list(some) for _, some in groupby(blocks, lambda block: block.number)]
    if len(files) == 1:
        return read(blocks)
    try:
        found = read(blocks)
        rows = [] if found is None else [found[0]]
    except SchemaError:
        rows = [found[0] for some in files if (found := read(some)) is not None]
    if not rows:
        return None
    return Batch.concatenate(rows), lambda row: f"{blocks[0].file} to {blocks[-1].file}, row {row}"


def lines_of(block: Block) -> Lines:
    """The lines that belong to a block, each with its end. UsageError for a file that is gone, is another one, or
    shorter than when it was cut."""
    try:
        with open(block.file, "rb") as file:
            lines = _lines_in(file, block)
            now, was = os.fstat(file.fileno()), block.was.stat
            end = _end_of(file, was.st_size)
    except OSError as error:
        raise UsageError(f"cannot read {block.file}: {error.strerror}; {UNTIL_READ}") from None
    # Some file systems (FUSE) give a file a new number now and then, and so it has to look like another one, too.
    is_other = not os.path.samestat(now, was) and (now.st_size, now.st_mtime_ns) != (was.st_size, was.st_mtime_ns)
    if is_other or (now.st_size >= was.st_size and end != block.was.end):
        raise UsageError(f"{block.file} {REPLACED}")
    if now.st_size < was.st_size:
        raise UsageError(
            f"{block.file} had {was.st_size} bytes when it was cut into blocks, and has {now.st_size} now; "
            f"{UNTIL_READ}"
        )
    return lines


def _lines_in(file: BinaryIO, block: Block) -> Lines:
    if block.start:
        file.seek(block.start - 1)
        file.readline()  # belongs to the block before, or is the newline just before this one
    at = file.tell()
    data = file.read(max(0, block.stop - at))
    if data and not data.endswith(b"\n"):
        data += file.readline().removesuffix(b"\n") + b"\n"
    return Lines(at, data)


def place_of(file: str, parts: Sequence[Lines], line: int) -> str:
    """Where the line of a number is, of lines that were read at once; for messages only."""
    first = 0
    while first + 1 < len(parts) and line >= (here := parts[first].data.count(b"\n")):
        first, line = first + 1, line - here
    return f"{file} line {lines_before(file, parts[first].at) + line + 1}"


def lines_before(path: str, end: int) -> int:
    """How many lines end before a byte; for messages only."""
    with open(path, "rb") as file:
        return file.read(end).count(b"\n")
