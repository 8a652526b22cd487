"""Builds what is published, with hatchling and without a network, and unpacks it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from scripts import archives
from tests.imports import HOUSE, LINKED, ROOT

WATCHDOG_S = 120


def build(kind: str, source: Path, into: Path) -> Path:
    """Build a "wheel" or "sdist" from a source tree; returns the file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = into.iterdir()
    return built


def files_of(wheel: Path) -> set[str]:
    """The files that a wheel puts into site-packages, without its own notes."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def unpack(archive: Path, into: Path) -> Path:
    """Unpack an sdist; returns its folder. Links in it would be an error: it is to hold the files themselves."""
    with tarfile.open(archive) as tar:
        assert all(member.isfile() or member.isdir() for member in tar)
        archives.unpack(tar, into)
    (folder,) = into.iterdir()
    return folder


def files_of_the_house() -> set[str]:
    """What is to be installed, by git: the files of tokenring/, and those that its links lead to."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", HOUSE, *LINKED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    there = [name for name in listed if name and (ROOT / name).is_file()]
    return {name if name.startswith(f"{HOUSE}/") else f"{HOUSE}/{name}" for name in there}
