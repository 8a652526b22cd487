"""What is published holds the files themselves, below tokenring/, and nothing else."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.build_hook import KernelsHook
from scripts.releasing.files import names
from tests.house.building import build, files_of, files_of_the_house, unpack
from tests.imports import HOUSE, LINKED, PACKAGES, ROOT
from tokenring.engine import kernel_library
from tokenring.shm.kernels import LIBRARY_FOLDER


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    archive = build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    return unpack(archive, tmp_path_factory.mktemp("unpacked"))


def test_the_wheel_holds_the_house_and_nothing_else(wheel: Path) -> None:
    files = files_of(wheel)
    assert files == files_of_the_house()
    assert {"tokenring/py.typed", "tokenring/__init__.pyi", "tokenring/nexmark/sql/q7.sql"} <= files
    assert not [name for name in files if "__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc"))]


def test_the_source_distribution_holds_the_files_themselves(sdist: Path) -> None:
    house = {str(path.relative_to(sdist)) for path in (sdist / HOUSE).rglob("*") if path.is_file()}
    assert house == files_of_the_house()
    assert not [part for part in PACKAGES if (sdist / part).exists()]
    assert (sdist / HOUSE / "engine" / "errors.py").read_text() == (ROOT / "engine" / "errors.py").read_text()


def test_the_source_distribution_has_what_a_build_needs(sdist: Path) -> None:
    hook = tomllib.loads((sdist / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]
    assert (sdist / hook["custom"]["path"]).read_text() == (ROOT / "scripts" / "build_hook.py").read_text()
    assert (sdist / "README.md").is_file()


def hook(folder: Path) -> KernelsHook:
    return KernelsHook(str(ROOT), {}, None, None, str(folder), "wheel")  # type: ignore[arg-type]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is asked of the making of the library, which writes one file and does no more."""
    asked: list[tuple[Any, ...]] = []

    def make(levels: Any = (), machine: str = "", progress: Any = None, folder: Path | None = None) -> None:
        asked.append((tuple(levels), machine))
        if folder is not None:
            folder.mkdir()
            (folder / "kernels.json").touch()

    monkeypatch.setattr(kernel_library, "make", make)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return asked


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_wheel_gets_all_levels_of_its_machine(
    machine: str, made: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOKENRING_MACHINE", machine)
    data: dict[str, Any] = {"force_include": {}}
    builds = hook(tmp_path)
    builds.initialize("standard", data)
    ((file, inside),) = data["force_include"].items()
    assert (made, inside) == ([(("all",), machine)], f"tokenring/{LIBRARY_FOLDER}/kernels.json")
    assert (data["pure_python"], data["tag"]) == (False, f"cp311-abi3-manylinux_2_17_{machine}")
    assert data["tag"] in names("1.2.3")[1][machine]
    builds.finalize("standard", data, "")
    assert not Path(file).parent.exists()


@pytest.mark.parametrize("there", ["none", "changed", "fits"])
def test_an_editable_install_makes_a_library_where_none_fits(
    there: str, made: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = SimpleNamespace(changed=lambda for_sure: ["a module"] * (there == "changed"))
    monkeypatch.setattr(kernel_library, "library", lambda: (None if there == "none" else found, ""))
    builds, data = hook(tmp_path), {"force_include": {}}
    builds.initialize("editable", data)
    builds.finalize("editable", data, "")
    assert (made, data) == ([((), "")] * (there != "fits"), {"force_include": {}})


@pytest.mark.parametrize(
    ("machine", "linkers", "needs"),
    [
        (platform.machine(), ["ld"], []),
        (platform.machine(), [], ["ziglang>=0.13"]),
        ("other", ["ld"], ["ziglang>=0.13"]),
        ("other", ["other-linux-gnu-ld"], []),
        ("other", ["ld.lld"], []),
    ],
)
def test_a_build_brings_a_linker_where_there_is_none(
    machine: str, linkers: list[str], needs: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOKENRING_MACHINE", machine)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in linkers else None)
    assert hook(tmp_path).dependencies() == needs


def test_a_wheel_of_the_source_distribution_is_the_same(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    assert files_of(build("wheel", sdist, tmp_path)) == files_of(wheel)


def test_the_command_s_entry_is_there() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"tokenring": "tokenring.__main__:main"}
    from tokenring.__main__ import main

    assert callable(main)


@pytest.mark.parametrize("part", LINKED)
def test_a_part_is_a_relative_link(part: str) -> None:
    """In git, too: a checkout elsewhere must find its own files."""
    assert (ROOT / HOUSE / part).readlink() == Path("..") / part
    listed = subprocess.run(
        ["git", "ls-files", "-s", f"{HOUSE}/{part}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert listed.stdout.startswith("120000 ")
