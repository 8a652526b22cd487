"""The files of a release: an sdist, and a wheel out of it for each machine; made, and checked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import orjson

from scripts import archives
from tokenring.shm.kernels import LEVELS, LIBRARY_FOLDER
from tokenring.tools.errors import CommandError

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = ROOT / "docs" / "CHANGELOG.md"
MACHINES = tuple(dict.fromkeys([level.machine for level in LEVELS]))
_GLIBC = 17
"""The wheels' tag says glibc 2.17."""
_LINES = 40


def version() -> str:
    """The version to release: the package's, which is the newest in the list of changes."""
    from tokenring import __version__

    if not re.fullmatch(r"\d+\.\d+\.\d+", __version__):
        raise CommandError(f"{__version__} is no version for a release: three numbers are (docs/releases.md)")
    newest = re.search(r"^## \[(\d\S*)\] - \d{4}-\d\d-\d\d$", CHANGELOG.read_text(), flags=re.M)
    if newest is None or newest[1] != __version__:
        raise CommandError(f"tokenring is {__version__}, but {CHANGELOG} begins with {newest and newest[1]}")
    return __version__


def names(of: str) -> tuple[str, dict[str, str]]:
    """What the files of a version are called: the sdist, and the wheel of each machine."""
    tag = f"cp311-abi3-manylinux_2_{_GLIBC}"
    return f"tokenring-{of}.tar.gz", {machine: f"tokenring-{of}-{tag}_{machine}.whl" for machine in MACHINES}


def make(of: str, into: Path) -> None:
    """Make all files; they come into the folder together, when all are made and have passed the checks."""
    sdist, wheels = names(of)
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=into) as scratch:
        made, unpacked = Path(scratch) / "made", Path(scratch) / "unpacked"
        _run("build", "--sdist", "--outdir", str(made), str(ROOT))
        with tarfile.open(made / sdist) as tar:
            archives.unpack(tar, unpacked)
        for machine in wheels:
            source = str(unpacked / f"tokenring-{of}")
            _run("build", "--wheel", "--outdir", str(made), source, TOKENRING_MACHINE=machine)
        check(of, made)
        for name in (sdist, *wheels.values()):
            (made / name).replace(into / name)


def check(of: str, folder: Path) -> None:
    """CommandError unless all files are there, hold what they must, and say so in the index's language."""
    sdist, wheels = names(of)
    missing = [name for name in (sdist, *wheels.values()) if not (folder / name).is_file()]
    if missing:
        raise CommandError(f"{folder} lacks {', '.join(missing)}")
    _run("twine", "check", "--strict", *[str(folder / name) for name in (sdist, *wheels.values())])
    for machine, name in wheels.items():
        said = _run("auditwheel", "show", str(folder / name))
        tag = re.search(rf'"manylinux_2_(\d+)_{machine}"', " ".join(said.split()))
        if tag is None or int(tag[1]) > _GLIBC:
            raise CommandError(f"{name}: auditwheel does not agree with its tag: {said.strip()}")
        check_library(folder / name, machine)


def check_library(wheel: Path, machine: str) -> None:
    """CommandError unless a wheel has what the loader of the library of kernels will ask for."""
    wanted = [level.name for level in LEVELS if level.machine == machine]
    below = f"tokenring/{LIBRARY_FOLDER}"
    with zipfile.ZipFile(wheel) as archive:
        sizes = {info.filename.removeprefix(f"{below}/"): info.file_size for info in archive.infolist()}
        listed = orjson.loads(archive.read(f"{below}/kernels.json"))["files"] if "kernels.json" in sizes else {}
    lacks = [name for name in wanted if name not in listed or listed[name] != sizes.get(f"{name}.abi3.so")]
    if lacks or "processor.abi3.so" not in sizes:
        raise CommandError(f"{wheel.name} has no whole library of kernels: {', '.join(lacks) or 'processor'}")


def _run(tool: str, *arguments: str, **more: str) -> str:
    """Run a tool of this environment: seen on a terminal where it takes long, otherwise only if it fails."""
    if tool == "build" and sys.stderr.isatty():
        said, status = "", subprocess.run([sys.executable, "-m", tool, *arguments], env=os.environ | more).returncode
    else:
        done = subprocess.run(
            [sys.executable, "-m", tool, *arguments],
            env=os.environ | {"NO_COLOR": "1"} | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said, status = done.stdout, done.returncode
    if status:
        tail = "".join(f"\n{line}" for line in said.splitlines()[-_LINES:])
        raise CommandError(f"{tool} {arguments[0]} failed with status {status}{':' if tail else ''}{tail}")
    return said
