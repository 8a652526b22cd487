"""The command that installs an extra works where the package came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.imports import ROOT
from tokenring.how_to_install import how_to_install


def _installed(site: Path, origin: dict[str, Any] | None) -> Path:
    """A package in a folder, installed from somewhere."""
    about = site / "tokenring-1.0.dist-info"
    about.mkdir(parents=True)
    needs = "Requires-Dist: click\nRequires-Dist: numba>=0.61; extra == 'kernels'\n"
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tokenring\nVersion: 1.0\n{needs}")
    if origin is not None:
        (about / "direct_url.json").write_text(json.dumps(origin))
    (site / "tokenring").mkdir()
    return site / "tokenring"


def test_a_checkout() -> None:
    assert how_to_install("kernels") == f"pip install -e '{ROOT}[kernels]'"


def test_an_index(tmp_path: Path) -> None:
    assert how_to_install("kernels", _installed(tmp_path, None)) == "pip install 'tokenring[kernels]'"


@pytest.mark.parametrize("name", ["tokenring-1.0-py3-none-any.whl", "a checkout"])
def test_a_file_or_a_folder(tmp_path: Path, name: str) -> None:
    came_from = tmp_path / name
    package = _installed(tmp_path / "site", {"url": came_from.as_uri(), "archive_info": {}})
    assert how_to_install("kernels", package) == "pip install 'numba>=0.61'"  # it has gone
    came_from.touch()
    assert how_to_install("kernels", package) == f"pip install '{came_from}[kernels]'"


def test_a_repository(tmp_path: Path) -> None:
    origin = {"url": "https://example.org/it.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}
    said = how_to_install("spark", _installed(tmp_path, origin))
    assert said == "pip install 'tokenring[spark] @ git+https://example.org/it.git@ab12'"


def test_a_wheel_of_a_site(tmp_path: Path) -> None:
    package = _installed(tmp_path, {"url": "https://example.org/tokenring.whl", "archive_info": {}})
    assert how_to_install("spark", package) == "pip install 'tokenring[spark] @ https://example.org/tokenring.whl'"
