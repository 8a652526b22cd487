"""Builds what is published, with hatchling and without a network, and unpacks it; the library of kernels aside."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts import archives
from tests.imports import HOUSE, LINKED, ROOT
from tokenring.engine.kernel_library import library

WATCHDOG_S = 120
_LIBRARY = library()[0]
needs_the_library = pytest.mark.skipif(
    _LIBRARY is None or bool(_LIBRARY.changed(for_sure=True)),
    reason="the checkout's library of kernels is not that of its sources: python -m tokenring kernels --make",
)
"""Of what runs where nothing can compile."""


def build(kind: str, source: Path, into: Path) -> Path:
    """Build a "wheel" or "sdist" from a source tree, but for its library of kernels, which takes minutes; returns the
    file.
    """
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    plain = os.environ | {"HATCH_BUILD_NO_HOOKS": "true"}
    done = subprocess.run(command, cwd=source, env=plain, capture_output=True, text=True, timeout=WATCHDOG_S)
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
