"""Which files a path, a folder, a pattern or a list of them names, and whether they are still the same."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np

from tokenring.engine import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_LINE_BYTES = 64
UNTIL_READ: Final = "leave files as they are until they have been read"
REPLACED: Final = f"was replaced, or changed, while it was read; {UNTIL_READ}, and give new ones other names"

_AT_ONCE = 64  # small files, of a disk that may be slow

Paths = str | Path | Sequence[str | Path]
Part = TypeVar("Part")


def files_of(name: str, paths: Paths, suffixes: tuple[str, ...]) -> list[str]:
    """The files in order: of a folder those with a suffix, in capitals or not, in sorted order, hidden ones left out; a
    pattern's sorted. UsageError if there are none, one is not there or no regular file, or a folder has others deeper
    in it. Nothing is opened.
    """
    listed = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(listed, list | tuple) or not all(isinstance(each, str | Path) for each in listed):
        raise UsageError(f"source {name!r}: a path is text or a Path, or a list of them, not {type(paths).__name__}")
    if not all(map(str, listed)):
        raise UsageError(f"source {name!r}: a path is empty; say '.' for the current folder")
    try:
        found, folders = _listed(name, listed, suffixes)
        _require_all(name, folders, found, suffixes)
    except OSError as error:
        raise UsageError(f"source {name!r}: cannot read {error.filename}: {error.strerror}") from None
    for file in found:
        require_readable(name, file)
    if not found:
        others = [f"; for others give a pattern, such as {Path(folder, '*')}" for folder in folders]
        raise UsageError(f"source {name!r}: no file that ends in {', '.join(suffixes)} in {paths}{''.join(others[:1])}")
    return found


def require_readable(name: str, file: str | Path) -> None:
    """UsageError for what is no file, or may not be read."""
    if not os.access(file, os.R_OK):
        said = "permission denied" if os.path.exists(file) else "it has gone"
        raise UsageError(f"source {name!r}: cannot read {file}: {said}")
    if not os.path.isfile(file):
        raise UsageError(
            f"source {name!r}: {file} is no regular file (a pipe, say), and files are read at several places at once: "
            f"write it to a file, or read it by a function (from_generator)"
        )


def _listed(name: str, listed: Sequence[str | Path], suffixes: tuple[str, ...]) -> tuple[list[str], dict[str, bool]]:
    """The files, and the folders (see `_require_all`). OSError for a path at which nobody may look."""
    found: list[str] = []
    folders: dict[str, bool] = {}
    for each in listed:
        path = Path(each)
        if path.is_dir():
            folders[str(path)] = True
            with os.scandir(path) as entries:
                here = sorted([one.name for one in entries if _is_shown(one.name, suffixes) and not one.is_dir()])
            found += [str(path / each) for each in here]
        elif path.exists():
            found.append(str(path))
        else:
            import glob

            matches = sorted(glob.glob(str(each), recursive=True))
            if "**" in path.parts:  # below which glob passes over what it may not list
                for _ in _walked(Path(*takewhile(lambda part: not glob.has_magic(part), path.parts))):
                    pass
            if not matches:
                raise UsageError(f"source {name!r}: there is no file {each}")
            folders = {match: False for match in matches if os.path.isdir(match)} | folders
            found += [match for match in matches if not os.path.isdir(match)]
    return found, folders


def _walked(top: str | Path) -> Iterator[tuple[str, list[str]]]:
    """A folder and those in it, each with its files' names; hidden ones are left out, and a file system's own. OSError
    for one at which nobody may look."""

    def refuse(error: OSError) -> NoReturn:
        raise error

    for folder, inner, names in os.walk(top, onerror=refuse):
        inner[:] = sorted([each for each in inner if each[0] not in "._" and each != "lost+found"])
        yield folder, names


def _is_shown(name: str, suffixes: tuple[str, ...]) -> bool:
    return name[0] not in "._" and name.lower().endswith(suffixes)


def _require_all(name: str, folders: Mapping[str, bool], found: Sequence[str], suffixes: tuple[str, ...]) -> None:
    """UsageError for a file in one of the folders that is not among those found: nobody said to leave it out. OSError
    for a folder at which nobody may look. folders: each with whether all was read that was right in it; what has come
    since then is for the next run.
    """
    known = {os.path.abspath(file) for file in found} if folders else set()
    for top, is_read in folders.items():
        for folder, names in _walked(os.path.abspath(top)):
            if is_read and folder == os.path.abspath(top):
                continue
            for each in sorted(names):
                if _is_shown(each, suffixes) and (file := os.path.join(folder, each)) not in known:
                    pattern = f"*{Path(each).suffix}"
                    raise UsageError(
                        f"source {name!r}: {file} would be left out, since of a folder only files right in it are "
                        f"read: give {Path(top, '**', pattern)} for all, or {Path(top, pattern)} for those alone"
                        f"{_of_partitions(os.path.relpath(folder, top))}"
                    )


def _of_partitions(inside: str) -> str:
    """What is said of the columns that the folders around a file are named by, such as city=Oslo/day=1."""
    column, _, value = next((part for part in Path(inside).parts if "=" in part), "").partition("=")
    if not column:
        return ""
    return (
        f"; what folders' names say, such as {column} of {column}={value}, is no column of either: read each such "
        f"folder by itself, and add it by .with_columns({column}=lit({value!r}))"
    )


def small_together(
    parts: Iterable[Part], size: Callable[[Part], int], small: int, most: int, kind: Callable[[Part], object]
) -> Iterator[list[Part]]:
    """Parts of files, in order: of up to `small` those that follow each other and are of one kind, up to `most` of all
    of them, since a message of each would cost more than what is in it does; others by themselves."""
    run: list[Part] = []
    room = 0
    for part in parts:
        is_small = size(part) <= small
        fits = is_small and size(part) <= room and len(run) < _AT_ONCE
        if run and not (fits and kind(part) == kind(run[0])):
            yield run
            run = []
        if not run:
            room = most if is_small else 0
        run.append(part)
        room -= size(part)
    if run:
        yield run


def mapped(file: str) -> "pa.MemoryMappedFile":
    """A file mapped into memory, whatever bytes its name has: Arrow takes text for UTF-8. OSError if it cannot be."""
    import pyarrow as pa

    return pa.memory_map(os.fsencode(file))


def rows_at_a_guess(files: Iterable[str | Path]) -> int:
    """About how many rows there are in files of lines."""
    return sum([os.stat(path).st_size for path in files]) // _LINE_BYTES


def facts_of(name: str, files: Iterable[str | Path], **cut: int | str) -> dict[str, Any]:
    """What a source says of its contents: [path (see `resolved`), bytes, mtime_ns] of the files in order, and by what
    they are cut into pieces. Asked for before anything else is of the files, so that those that change in between are
    not taken for the same later. UsageError for a file that is not there.
    """
    try:
        found = [[resolved(path), *size_and_change(path)] for path in files]
    except OSError as error:
        raise UsageError(f"source {name!r}: cannot read {error.filename}: {error}") from None
    return {"files": found, **cut}


def resolved(path: str | Path) -> str:
    """Where a file lies, whatever path leads to it, as text that JSON holds: bytes that are no UTF-8 as \\xff."""
    return os.fsencode(os.path.realpath(path)).decode(errors="backslashreplace")


def size_and_change(path: str | Path) -> tuple[int, int]:
    """A file's bytes, and when it was changed, in ns."""
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns


def as_found(facts: Mapping[str, Any]) -> list[str]:
    """The files of such facts, each with its bytes and when it was changed."""
    return [
        f"{path!r} ({size:,} bytes, of {np.datetime64(ns // 10**9, 's')}.{ns % 10**9:09} UTC)"
        for path, size, ns in facts["files"]
    ]
