"""What is published holds the files themselves, below tokenring/, and nothing else."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.house.building import build, files_of, files_of_the_house, unpack
from tests.imports import HOUSE, LINKED, PACKAGES, ROOT


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
