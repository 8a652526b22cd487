"""`scripts/release`: what it refuses, in one line; what it makes and proves takes a quarter of an hour."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import orjson
import pytest

from scripts.releasing import files
from scripts.releasing.__main__ import main, probed, pythons
from tests.errors import raises
from tokenring.tools.errors import CommandError

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def test_the_version_is_the_newest_in_the_list_of_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tokenring

    assert files.version() == tokenring.__version__
    real = tokenring.__version__
    monkeypatch.setattr(tokenring, "__version__", "9.9.9")
    with raises(CommandError, "9.9.9", "CHANGELOG.md", real):
        files.version()
    monkeypatch.setattr(tokenring, "__version__", "1.0rc1")
    with raises(CommandError, "1.0rc1", "docs/releases.md"):
        files.version()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--no-make", "--out", "{folder}"], 1, "{folder} lacks tokenring-"),
        (["--python", "no-such-python"], 2, "no Python answers as no-such-python"),
        (["--no-such-option"], 2, "No such option"),
    ],
)
def test_it_says_what_is_wrong(
    arguments: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.format(folder=tmp_path) for argument in arguments]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith(f"scripts/release: {said.format(folder=tmp_path)}")


@pytest.mark.parametrize("lacking", [None, *LEVELS, "processor", "kernels.json"])
def test_a_wheel_must_have_the_whole_library(lacking: str | None, tmp_path: Path) -> None:
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("processor", *LEVELS):
            if name != lacking:
                archive.writestr(f"tokenring/_kernels/{name}.abi3.so", b"1234567")
        if lacking != "kernels.json":
            archive.writestr("tokenring/_kernels/kernels.json", orjson.dumps({"files": dict.fromkeys(LEVELS, 7)}))
    if lacking is None:
        files.check_library(wheel, "x86_64")
        return
    with raises(CommandError, "some.whl", "x86-64-v2" if "json" in lacking else lacking):
        files.check_library(wheel, "x86_64")


def test_interpreters_are_those_that_run() -> None:
    this = probed([sys.executable])
    assert this is not None
    assert this.version == ".".join(map(str, sys.version_info[:3]))
    assert probed([sys.executable, "-c", "raise SystemExit(3)"]) is None
    assert all(python.version.startswith("3.1") for python in pythons())
