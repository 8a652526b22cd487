"""Kernels are kept where nothing can be written but a temporary folder, and read where they cannot be written; never in
a folder that others may have made.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import runpy
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copies import in_a_copy
from tests.imports import ROOT

PROGRAM = """
from tokenring.shm.kernels import int64, kernel
@kernel(int64(int64))
def next_of(value):
    return value + 1
if __name__ == "__main__":
    from tokenring.engine.group.warm_up import warm_up
    print(warm_up() > 0, next_of(1))
"""
# Permissions are nothing to root, until it gives up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH for what it starts.
BOUND = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def give_up_rights() -> None:
    """As above, of this process itself."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # _LINUX_CAPABILITY_VERSION_3
        assert libc.capget(header, rights) == 0
        for kind in range(2):  # effective, permitted
            rights[kind] &= ~(1 << 1 | 1 << 2)
        assert libc.capset(header, rights) == 0


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Path]:
    """A program in a folder that cannot be written, with a home like that."""
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    (tmp_path / "temporary").mkdir(mode=0o700)
    folder.chmod(0o555)
    yield folder / "program.py"
    folder.chmod(0o755)


def environment(program: Path) -> dict[str, str]:
    return {
        "HOME": str(program.parent / "missing"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(program.parents[1] / "temporary"),
    }


def run(program: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BOUND, str(program)]
    return subprocess.run(
        command, env=environment(program), capture_output=True, text=True, timeout=250, check=False
    )


def run_again(program: Path) -> subprocess.CompletedProcess[str]:
    """As `run`, in a copy of this process."""

    told = environment(program)

    def main() -> None:
        os.environ.clear()
        os.environ.update(told)
        tempfile.tempdir = None  # it is looked for anew
        importlib.reload(warnings)  # pytest keeps what is warned of
        give_up_rights()
        runpy.run_path(str(program), run_name="__main__")

    return in_a_copy(main, [program], program.parent, program.parent)


def test_they_are_kept_in_a_temporary_folder_of_this_user_alone(program: Path) -> None:
    first, second = run(program), run(program)
    assert (first.stdout, first.stderr.splitlines()[-1:]) == ("True 2\n", ["compiling 1 kernel, once"]), first.stderr
    assert "Warning" not in first.stderr
    assert (second.stdout, second.stderr) == ("False 2\n", "")
    (folder,) = (program.parents[1] / "temporary").iterdir()
    assert folder.name == f"tokenring-kernels-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(program.parent.glob("*cache*"))


def made_by_its_owner(program: Path) -> Path:
    """Kernels beside a program, made while its folder could be written; where they are."""
    program.parent.chmod(0o755)
    assert run_again(program).stdout == "True 2\n"
    kept = program.parent / "__pycache__"
    assert list(kept.glob("*.nbi"))
    kept.chmod(0o555)
    program.parent.chmod(0o555)
    return kept


@pytest.mark.parametrize("can_write_elsewhere", [True, False])
def test_what_its_owner_compiled_is_read_where_it_cannot_be_written(program: Path, can_write_elsewhere: bool) -> None:
    """An image that was made by root, say, and run by another user, or on a read-only file system."""
    kept = made_by_its_owner(program)
    temporary = program.parents[1] / "temporary"
    if not can_write_elsewhere:
        temporary.chmod(0o500)
    found = run_again(program)
    temporary.chmod(0o700)
    assert (found.stdout, found.stderr) == ("False 2\n", "")
    kept.chmod(0o755)


def test_what_is_not_valid_any_more_is_compiled_and_kept_elsewhere(program: Path) -> None:
    kept = made_by_its_owner(program)
    program.write_text(PROGRAM.replace("value + 1", "value + 2"))
    first, second = run_again(program), run_again(program)
    assert (first.stdout, second.stdout, second.stderr) == ("True 3\n", "False 3\n", "")
    assert list((program.parents[1] / "temporary").rglob("*.nbi"))
    kept.chmod(0o755)


def test_what_anybody_could_have_put_there_is_not_read(program: Path) -> None:
    kept = made_by_its_owner(program)
    kept.chmod(0o557)
    assert run_again(program).stdout == "True 2\n"
    kept.chmod(0o755)


@pytest.mark.parametrize("planted", ["open to others", "a link", "in an open folder"])
def test_a_folder_that_others_may_have_made_is_not_used(program: Path, planted: str) -> None:
    temporary, other = program.parents[1] / "temporary", program.parents[1] / "other"
    folder = temporary / f"tokenring-kernels-{os.geteuid()}"
    other.mkdir(mode=0o700)
    if planted == "a link":
        folder.symlink_to(other)
    else:
        folder.mkdir(mode=0o700)
        (folder if planted == "open to others" else temporary).chmod(0o777)
    ran = run_again(program)
    assert ran.stdout == "True 2\n"
    assert ran.stderr.count("KernelCacheWarning: compiled kernels cannot be kept") == 1
    assert "NUMBA_CACHE_DIR" in ran.stderr
    assert not list(folder.iterdir())
