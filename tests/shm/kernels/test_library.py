"""A library that is damaged, or not for this processor or Python, is not used, and it is said why."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.imports import ROOT
from tests.long_form import LONG
from tests.shm.kernels import little
from tokenring.engine.native.runs import run_once
from tokenring.shm.kernels import LEVELS
from tokenring.shm.kernels.ingredients import ingredients
from tokenring.shm.kernels.library import ENDING, FORMAT, LIST, key_of, library, opened, stamp_of

PACKAGE = ROOT / "tokenring"
PROCESSOR = f"processor{ENDING}"


def _levels(folder: Path) -> list[Path]:
    """The files of levels, the best first."""
    there = [folder / f"{level.name}{ENDING}" for level in LEVELS]
    return [file for file in there if file.exists()]


def _cut(length: int, folder: Path, of_processor: bool = False) -> None:
    """Leave so much of a file; less than nothing is left out at its end."""
    file = folder / PROCESSOR if of_processor else _levels(folder)[0]
    os.truncate(file, length if length >= 0 else file.stat().st_size + length)


def _lengthen(folder: Path) -> None:
    with open(_levels(folder)[0], "ab") as file:
        file.write(b"\0")


def _rewrite(change: Callable[[dict[str, Any]], object], folder: Path) -> None:
    listed = orjson.loads((folder / LIST).read_bytes())
    change(listed)
    (folder / LIST).write_bytes(orjson.dumps(listed))


def _of_another_list(folder: Path) -> None:
    """Machine code that was made together with another list: of as many bytes."""
    file, listed = _levels(folder)[0], orjson.loads((folder / LIST).read_bytes())
    stamp = stamp_of(listed, file.name.removesuffix(ENDING)).encode()
    code = file.read_bytes()
    assert code.count(stamp) == 1
    file.write_bytes(code.replace(stamp, stamp[::-1]))


def _of_another_machine(folder: Path) -> None:
    """As ELF has the machine: two bytes at 18."""
    code = bytearray(_levels(folder)[0].read_bytes())
    code[18:20] = (243).to_bytes(2, "little")  # RISC-V
    _levels(folder)[0].write_bytes(code)


def _only_other_levels(listed: dict[str, Any]) -> None:
    sizes = listed["files"]
    listed["files"] = {"processor": sizes["processor"], "x86-64-v9": 100_000, "armv9-a": 100_000}


def _swap(folder: Path) -> None:
    """Give each level the other's file."""
    best, other = _levels(folder)
    best.rename(folder / "kept")
    other.rename(best)
    (folder / "kept").rename(other)


def _unreadable(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.name)  # for root, too: it leads nowhere


CUTS = (0, 1, 63, 64, 600, 4096, 8192, -4096, -1)
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    **{f"a level of {length} bytes": (partial(_cut, length), r"-a?v?[\d.]+\S* is not whole$") for length in CUTS},
    **{
        f"a processor of {length} bytes": (partial(_cut, length, of_processor=True), r"/processor\S* is not whole$")
        for length in CUTS
    },
    "a level of a byte more": (_lengthen, "is not whole$"),
    "no folder": (shutil.rmtree, r"there is no library \(.*/kernels\.json\)$"),
    "no list": (lambda folder: (folder / LIST).unlink(), r"there is no library \(.*/kernels\.json\)$"),
    "no processor": (lambda folder: (folder / PROCESSOR).unlink(), r"there is no library \(.*/processor\S+\)$"),
    "a level is missing": (lambda folder: _levels(folder)[0].unlink(), r"there is no library \(.*\.so\)$"),
    "an empty list": (lambda folder: (folder / LIST).write_bytes(b""), "the library cannot be used"),
    "a cut list": (lambda folder: os.truncate(folder / LIST, 1000), "the library cannot be used"),
    "no JSON": (lambda folder: (folder / LIST).write_bytes(bytes(range(256))), "the library cannot be used"),
    "a list of a list": (lambda folder: (folder / LIST).write_bytes(b"[]"), "the library cannot be used"),
    "another format": (partial(_rewrite, lambda listed: listed.update(format=FORMAT + 1)), "is another version's$"),
    "other times": (partial(_rewrite, lambda listed: listed.update(coordinates=5)), "of 5 coordinates, not 4$"),
    "no format": (partial(_rewrite, lambda listed: listed.pop("format")), "the library cannot be used"),
    "no files": (partial(_rewrite, lambda listed: listed.pop("files")), "the library cannot be used"),
    "files of another kind": (partial(_rewrite, lambda listed: listed.update(files=[])), "the library cannot be used"),
    "no kernels": (partial(_rewrite, lambda listed: listed.pop("kernels")), "the library cannot be used"),
    "kernels in another order": (partial(_rewrite, lambda listed: listed["kernels"].reverse()), f"is not what {LIST}"),
    "a kernel less": (partial(_rewrite, lambda listed: listed["kernels"].pop()), f"is not what {LIST}"),
    "another source": (partial(_rewrite, lambda listed: listed["sources"][0].reverse()), f"is not what {LIST}"),
    "of another Python": (partial(_rewrite, lambda listed: listed.update(python="cpython 3.9")), f"is not what {LIST}"),
    "of another list": (_of_another_list, f"is not what {LIST}"),
    "for another machine": (_of_another_machine, "the library cannot be used"),
    "other levels": (partial(_rewrite, _only_other_levels), "has nothing for this processor"),
    "levels in each other's place": (_swap, f"is not (whole|what {LIST} says)$"),
    "a folder that cannot be read": (_unreadable, "the library cannot be used"),
}


@pytest.fixture(scope="module")
def said(little_library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Whether each damaged library is used, and what is said of it, each in a process of its own."""
    above = tmp_path_factory.mktemp("damaged")
    folders = [above / str(at) for at in range(len(DAMAGES) + 1)]
    for folder, (damage, _) in zip(folders, [*DAMAGES.values(), (lambda _: None, "")], strict=True):
        shutil.copytree(little_library, folder)
        damage(folder)
    return dict(zip([*DAMAGES, "nothing"], little.opened_in_children(folders), strict=True))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_library_is_not_used(said: dict[str, list[Any]], damage: str) -> None:
    is_used, why = said[damage]
    assert is_used is False, why  # None: the process crashed
    assert re.search(DAMAGES[damage][1], why), why
    assert "\n" not in why


def test_a_sound_library_is_used_for_the_best_level(said: dict[str, list[Any]], little_library: Path) -> None:
    assert said["nothing"] == [True, _levels(little_library)[0].name.removesuffix(ENDING)]


def test_its_list_says_what_whoever_asks_finds_in_a_kernel() -> None:
    """Also of one that has code for any processor where it is made ahead, and for this one where numba makes it."""
    found, why = library()
    if found is None or found.changed(for_sure=True):
        pytest.skip(why or "files have changed since it was made")
    assert found.kernels[key_of(run_once)][1] == ingredients(run_once.py_func)


def test_a_level_that_is_not_there_leaves_the_next(little_library: Path, tmp_path: Path) -> None:
    """As where a library was made for lesser processors only."""
    folder = tmp_path / "_kernels"
    shutil.copytree(little_library, folder)
    best, *others = _levels(folder)
    _rewrite(lambda listed: listed["files"].pop(best.name.removesuffix(ENDING)), folder)
    found, level = opened(PACKAGE, folder)
    if others:
        assert found is not None
        assert level == found.level == others[0].name.removesuffix(ENDING)
    else:
        assert (found, "nothing for this processor" in level) == (None, True)


def test_a_list_with_any_bit_flipped_is_not_used_for_other_kernels(little_library: Path, tmp_path: Path) -> None:
    folder = tmp_path / "_kernels"
    shutil.copytree(little_library, folder)
    sound, level = opened(PACKAGE, folder)
    assert sound is not None
    listed = (folder / LIST).read_bytes()
    used = 0
    for at in range(0, len(listed), 1 if LONG else 3):
        flipped = bytearray(listed)
        flipped[at] ^= 1 << at % 7
        (folder / LIST).write_bytes(flipped)
        found, why = opened(PACKAGE, folder)
        if found is not None:  # it was the size of a level that is not used, or the name of the one that was
            used += 1
            assert (found.kernels, found._sources) == (sound.kernels, sound._sources), at
            assert why in (level, "x86-64-v3", "x86-64-v2", "armv8-a"), at
    assert used < 100


def test_a_python_without_its_lock_has_none(little_library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "abiflags", "t")
    assert opened(PACKAGE, little_library) == (None, "the library is not for a Python without its lock")


@pytest.mark.parametrize(
    ("name", "value", "is_used"),
    [
        ("TOKENRING_KERNELS", "numba", False),
        ("TOKENRING_KERNELS", "", True),
        ("NUMBA_BOUNDSCHECK", "1", False),
        ("NUMBA_BOUNDSCHECK", "0", True),
    ],
)
def test_the_environment_may_ask_for_numba(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, is_used: bool
) -> None:
    looked: list[Path] = []
    # The room's face has a function of the module's name.
    module = sys.modules["tokenring.shm.kernels.library"]
    monkeypatch.setattr(module, "opened", lambda package, folder: looked.append(folder))
    monkeypatch.setenv(name, value)
    library.__wrapped__()
    assert looked == [PACKAGE / "_kernels"] * is_used
