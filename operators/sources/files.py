"""Which files a path, a folder, a pattern or a list of them names, and whether they are still the same."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenring.engine import UsageError

_LINE_BYTES = 64

Paths = str | Path | Sequence[str | Path]


def files_of(name: str, paths: Paths, suffixes: tuple[str, ...]) -> list[str]:
    """The files in order: of a folder those with a suffix in sorted order, hidden ones left out; a pattern's sorted.
    UsageError if there are none, or one is not there or no regular file. Nothing is opened.
    """
    listed = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(listed, list | tuple) or not all(isinstance(each, str | Path) for each in listed):
        raise UsageError(f"source {name!r}: a path is text or a Path, or a list of them, not {type(paths).__name__}")
    found: list[str] = []
    for each in listed:
        path = Path(each)
        if path.is_dir():
            here = sorted(entry for entry in path.iterdir() if entry.suffix in suffixes and entry.name[0] not in "._")
            found += [str(entry) for entry in here]
        elif path.exists():
            found.append(str(path))
        else:
            import glob

            matches = sorted(glob.glob(str(each), recursive=True))
            if not matches:
                raise UsageError(f"source {name!r}: there is no file {each}")
            found += matches
    for file in found:
        if os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file):
            raise UsageError(
                f"source {name!r}: {file} is no regular file (a pipe, say), and files are read at several places at "
                f"once: write it to a file, or read it by a function (from_generator)"
            )
    if not found:
        raise UsageError(f"source {name!r}: no file that ends in {', '.join(suffixes)} in {paths}")
    return found


def rows_at_a_guess(files: Iterable[str | Path]) -> int:
    """About how many rows there are in files of lines."""
    return sum([os.stat(path).st_size for path in files]) // _LINE_BYTES


def facts_of(name: str, files: Iterable[str | Path], **cut: int) -> dict[str, Any]:
    """What a source says of its contents: [path, bytes, mtime_ns] of the files in order, and by what they are cut into
    pieces. Asked for before anything else is of the files, so that those that change in between are not taken for the
    same later. UsageError for a file that is not there.
    """
    try:
        found = [[str(path), stat.st_size, stat.st_mtime_ns] for path in files for stat in [os.stat(path)]]
    except OSError as error:
        raise UsageError(f"source {name!r}: cannot read {error.filename}: {error}") from None
    return {"files": found, **cut}
