"""What a power failure leaves: the model of a disk says of what real processes did what fsync promises, and no more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from random import Random

import pytest

from scripts.storms.disk import MANNERS, Disk, calls, traced, why_untraced

pytestmark = pytest.mark.skipif(bool(why_untraced()), reason=why_untraced())
PROGRAM = """
import os, sys
base = sys.argv[1]
os.mkdir(f"{base}/deep")
os.chdir(base)
with open("deep/safe", "wb") as file:
    file.write(b"all of it")
    file.flush()
    os.fsync(file.fileno())
    file.write(b", and more")
with open("deep/lost", "w") as file:
    file.write("nobody waited")
for folder in ("deep", "."):
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
os.link(f"{base}/deep/safe", f"{base}/deep/twice")
os.rename(f"{base}/deep/lost", f"{base}/deep/moved")
place = os.open("deep", os.O_RDONLY)
descriptor = os.open("late", os.O_CREAT | os.O_WRONLY, dir_fd=place)
os.pwrite(descriptor, b"ate", 1)
os.pwrite(descriptor, b"l", 0)
os.ftruncate(descriptor, 3)
os.fdatasync(descriptor)
child = os.fork()
if child == 0:
    os.write(descriptor, b"L")
    os._exit(0)
os.waitpid(child, 0)
os.unlink(f"{base}/deep/safe")
"""


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What strace noted of the program, and the folder that it left."""
    folder = tmp_path_factory.mktemp("disk")
    for name in ("base", "notes"):
        (folder / name).mkdir()
    command = [sys.executable, "-S", "-c", PROGRAM, str(folder / "base")]
    subprocess.run(traced(command, folder / "notes"), check=True, stderr=subprocess.PIPE, timeout=120)
    return folder / "notes", folder / "base"


def there(base: Path) -> dict[str, bytes]:
    return {str(path.relative_to(base)): path.read_bytes() for path in base.rglob("*") if path.is_file()}


def failed(notes: tuple[Path, Path], manner: str, seed: int = 1, before: int | None = None) -> dict[str, bytes]:
    """What is there after a power failure: at the end, or before so many of the last calls."""
    folder, base = notes
    disk = Disk(base)
    for call in calls(folder)[: None if before is None else -before]:
        disk.do(call)
    shutil.rmtree(base)
    base.mkdir()
    disk.fail(manner, Random(seed))
    return there(base)


def test_what_was_not_synced_may_be_lost(notes: tuple[Path, Path]) -> None:
    assert failed(notes, "nothing") == {"deep/safe": b"all of it", "deep/lost": b""}
    assert failed(notes, "nothing", before=10**6) == {}


def test_names_may_be_there_without_what_is_in_them(notes: tuple[Path, Path]) -> None:
    seen = [failed(notes, "names", seed) for seed in range(40)]
    assert {frozenset(one) for one in seen} == {frozenset({"deep/twice", "deep/moved", "deep/late"})}
    assert {one["deep/twice"] for one in seen} == {b"all of it", b"all of it" + bytes(10)}
    assert {one["deep/moved"] for one in seen} == {b"", bytes(13)}
    assert {one["deep/late"] for one in seen} == {b"lat"}, "of three bytes, synced; then one was written over"


def test_two_names_of_a_file_are_of_one(notes: tuple[Path, Path]) -> None:
    for manner, seed in product(("names", "some"), range(40)):
        left = failed(notes, manner, seed, before=1)
        if {"deep/safe", "deep/twice"} <= {*left}:
            assert (notes[1] / "deep/safe").samefile(notes[1] / "deep/twice")


def test_all_may_be_there(notes: tuple[Path, Path]) -> None:
    whole = {"deep/twice": b"all of it, and more", "deep/moved": b"nobody waited", "deep/late": b"Lat"}
    seen = [failed(notes, "some", seed) for seed in range(300)]
    assert whole in seen
    assert {"deep/safe": b"all of it", "deep/lost": b""} in seen
    for one in seen:
        assert {*one} & {"deep/safe", "deep/twice"}
        assert not {"deep/lost", "deep/moved"} <= {*one}, "a name is changed at once"


def test_manners_are_told(notes: tuple[Path, Path]) -> None:
    assert MANNERS == ("nothing", "names", "some")
    with pytest.raises(KeyError):
        failed(notes, "all")
    assert os.path.isdir(notes[1])
