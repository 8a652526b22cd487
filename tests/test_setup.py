"""The set-up scripts' own decisions: which Python, folder and options; the set-up itself is what .ci/run runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports import ROOT

SCRIPTS = [ROOT / "scripts" / "quickstart", ROOT / "scripts" / "test", ROOT / ".ci" / "run"]


def run(*command: str | Path, **environment: str | Path) -> subprocess.CompletedProcess[str]:
    """Run with a plain PATH and nothing else from our environment, from a folder that is not the checkout."""
    plain = {"PATH": "/usr/bin:/bin", **{name: str(value) for name, value in environment.items()}}
    words = [str(part) for part in command]
    return subprocess.run(words, env=plain, cwd="/", capture_output=True, text=True, check=False)


def shell(body: str, **environment: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a few lines of bash with the scripts' common part sourced."""
    return run("bash", "-c", f"set -euo pipefail; source '{ROOT}/scripts/_env.sh'; {body}", **environment)


def executable(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_can_be_run_and_are_bash(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert run("bash", "-n", script).returncode == 0


@pytest.mark.parametrize(
    "options",
    [["--events", "0"], ["--events", "1e6"], ["--events"], ["--workers", "-1"], ["--workers", "08"], ["--evnts", "5"]],
)
def test_quickstart_refuses_bad_options_before_it_makes_anything(options: list[str], tmp_path: Path) -> None:
    done = run(SCRIPTS[0], *options, TOKENRING_VENV=tmp_path / "venv", TOKENRING_DATA=tmp_path / "data")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("quickstart: ")
    assert options[0] in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_a_python_that_is_only_a_name_is_passed_over(tmp_path: Path) -> None:
    """pyenv puts shims for every version on the PATH; the ones that are not selected fail when run."""
    shim = executable(tmp_path / "python3.13", "echo 'pyenv: python3.13: command not found' >&2", "exit 127")
    old = executable(tmp_path / "python-old", "exit 1")
    done = shell("find_python", TOKENRING_PYTHON=f"{shim} {old} {sys.executable}")
    assert (done.returncode, done.stdout) == (0, f"{sys.executable}\n")


@pytest.mark.parametrize(("second_us", "taken"), [(1000, 0), (810, 0), (790, 1)])
def test_a_python_that_is_quicker_by_a_fifth_is_taken(second_us: int, taken: int, tmp_path: Path) -> None:
    pythons = [executable(tmp_path / f"python{i}", f"echo {us}") for i, us in enumerate([1000, second_us])]
    done = shell("find_python", TOKENRING_PYTHON=" ".join(map(str, pythons)))
    assert (done.returncode, done.stdout) == (0, f"{pythons[taken]}\n")


def test_no_python_at_all_names_the_cure(tmp_path: Path) -> None:
    old = executable(tmp_path / "python-old", "exit 1")
    done = run(SCRIPTS[1], TOKENRING_PYTHON=old, TOKENRING_VENV=tmp_path / "venv")
    assert done.returncode == 2
    assert "apt install python3" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_without_ensurepip_names_the_cure(tmp_path: Path) -> None:
    refuse = 'case "$*" in *-m*) echo "ensurepip is not available" >&2; exit 1 ;; esac'
    python = executable(tmp_path / "python3", refuse, f'exec "{sys.executable}" "$@"')
    done = shell(f"make_venv '{python}'", TOKENRING_VENV=tmp_path / "venv", PATH="/usr/bin:/bin")
    assert done.returncode == 2
    assert "ensurepip is not available" in done.stderr
    assert f"apt install python{sys.version_info.major}.{sys.version_info.minor}-venv" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "venv").exists()


def test_a_folder_that_is_no_environment_is_never_cleared(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    done = run(SCRIPTS[1], TOKENRING_VENV=tmp_path, TOKENRING_PYTHON=sys.executable)
    assert done.returncode == 2
    assert f"{tmp_path} exists and is no virtual environment" in done.stderr
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_progress_is_silent_in_a_pipe_and_keeps_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = shell(f"printf 'Collecting x\\n   Progress 5 of 10\\n' | show_progress '{log}'")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert log.read_text() == "Collecting x\n"
