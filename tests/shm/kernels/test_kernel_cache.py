"""Compiled kernels kept on disk are made anew when a constant or a kernel that they use changes, in whatever file."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.copies import in_a_copy
from tokenring.shm.kernels.compilation import ingredients

LEAF = """
from tokenring.shm.kernels.kernel import kernel
STEP = {step}
@kernel
def advance(at):
    return at + STEP * {factor}
"""
CALLER = """
from tokenring.shm.kernels import kernel, int64
from leaf import STEP, advance
@kernel(int64(int64))
def twice(at):
    return advance(advance(at)) + STEP
print(twice(0), sum(twice.original().stats.cache_hits.values()))
"""
RECORDS = """
import numpy as np
PAIR = np.dtype([("{first}", "i8"), ("{second}", "i8")])
"""
READER = """
from tokenring.shm.kernels import address_of, int64, kernel, records_at
from leaf import PAIR
import numpy as np
@kernel(int64(int64))
def read(address):
    return records_at(address, 1, PAIR)[0].right
words = np.array([1, 2])
print(read(address_of(words)), sum(read.original().stats.cache_hits.values()))
"""


def _run(folder: Path, text: str) -> list[int]:
    """What a program of two files prints: what a kernel returns, and how often it was found on the disk."""
    (folder / "leaf.py").write_text(text)
    # Python's own cache of byte code goes by whole seconds and sizes; it is not what is looked at here.
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return _numbers(
        subprocess.run(
            [sys.executable, "-m", "caller"], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
        )
    )


def _run_again(folder: Path, text: str) -> list[int]:
    """As `_run`, in a copy of this process."""
    (folder / "leaf.py").write_text(text)

    def main() -> None:
        sys.dont_write_bytecode = True
        runpy.run_module("caller", run_name="__main__", alter_sys=True)

    return _numbers(in_a_copy(main, ["caller"], folder, folder))


def _numbers(output: subprocess.CompletedProcess[str]) -> list[int]:
    assert output.returncode == 0, output.stderr
    return [int(word) for word in output.stdout.split()]


def test_a_change_in_another_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    assert _run(tmp_path, LEAF.format(step=1, factor=1)) == [3, 0]
    assert _run(tmp_path, LEAF.format(step=1, factor=1)) == [3, 1], "the second run takes what is on the disk"
    assert _run_again(tmp_path, LEAF.format(step=5, factor=1)) == [15, 0], "a constant changed"
    assert _run_again(tmp_path, LEAF.format(step=5, factor=2)) == [25, 0], "the code of a kernel that is called changed"


def test_a_change_of_a_records_words_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(READER)
    assert _run_again(tmp_path, RECORDS.format(first="left", second="right")) == [2, 0]
    assert _run_again(tmp_path, RECORDS.format(first="left", second="right")) == [2, 1]
    assert _run_again(tmp_path, RECORDS.format(first="right", second="left")) == [1, 0], "it would read another word"


NAMESAKE = """
from tokenring.shm.kernels import address_of, int64, kernel, records_at
from leaf import PAIR
import numpy as np
@kernel(int64(int64))
def right(address):
    return records_at(address, 1, PAIR)[0].right
words = np.array([1, 2])
print(right(address_of(words)), sum(right.original().stats.cache_hits.values()))
"""


def test_a_kernel_may_be_called_like_a_field_that_it_reads(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(NAMESAKE)
    assert _run_again(tmp_path, RECORDS.format(first="left", second="right")) == [2, 0]
    assert _run_again(tmp_path, RECORDS.format(first="left", second="right")) == [2, 1], "it is not compiled anew"


OF_A_MODULE = """
import leaf
from tokenring.shm.kernels import int64, kernel
@kernel(int64(int64))
def twice(at):
    return leaf.advance(leaf.advance(at)) + leaf.STEP
print(twice(0), sum(twice.original().stats.cache_hits.values()))
"""


def test_a_change_of_what_is_taken_from_a_module_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(OF_A_MODULE)
    assert _run_again(tmp_path, LEAF.format(step=1, factor=1)) == [3, 0]
    assert _run_again(tmp_path, LEAF.format(step=1, factor=1)) == [3, 1]
    assert _run_again(tmp_path, LEAF.format(step=5, factor=1)) == [15, 0], "a constant changed"
    assert _run_again(tmp_path, LEAF.format(step=5, factor=2)) == [25, 0], "the code of a kernel that is called changed"


def test_what_the_functions_around_it_say_is_an_ingredient() -> None:
    def made(step: int) -> Callable[[int], int]:
        return lambda at: at + step

    assert ingredients(made(1)) == ingredients(made(1))
    assert ingredients(made(1)) != ingredients(made(2))


def test_code_of_other_sources_is_compiled_anew_whatever_the_index_says(tmp_path: Path) -> None:
    """A process that began before a change, and writes what it has compiled after it."""
    (tmp_path / "caller.py").write_text(CALLER)
    assert _run_again(tmp_path, LEAF.format(step=1, factor=1)) == [3, 0]
    written = {file: file.read_bytes() for file in (tmp_path / "__pycache__").glob("*.nbc")}
    assert len(written) == 2, "of each kernel"
    assert _run_again(tmp_path, LEAF.format(step=5, factor=1)) == [15, 0]
    for file, code in written.items():
        file.write_bytes(code)
    assert _run_again(tmp_path, LEAF.format(step=5, factor=1)) == [15, 0]
    assert _run_again(tmp_path, LEAF.format(step=5, factor=1)) == [15, 1], "it is kept"
