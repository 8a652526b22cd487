"""Compiled kernels kept on disk are made anew when a constant or a kernel that they use changes, in whatever file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LEAF = """
from tokenring.shm.kernels.kernel import kernel
STEP = {step}
@kernel
def advance(at):
    return at + STEP * {factor}
"""
CALLER = """
from tokenring.shm.kernels.kernel import kernel, int64
from leaf import STEP, advance
@kernel(int64(int64))
def twice(at):
    return advance(advance(at)) + STEP
print(twice(0), sum(twice.original().stats.cache_hits.values()))
"""


def _run(folder: Path, step: int, factor: int) -> list[int]:
    leaf = folder / "leaf.py"
    leaf.write_text(LEAF.format(step=step, factor=factor))
    # Python's own cache of byte code goes by whole seconds and sizes; it is not what is looked at here.
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    output = subprocess.run(
        [sys.executable, "-m", "caller"], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert output.returncode == 0, output.stderr
    return [int(word) for word in output.stdout.split()]


def test_a_change_in_another_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    assert _run(tmp_path, 1, 1) == [3, 0]
    assert _run(tmp_path, 1, 1) == [3, 1], "the second run takes the compiled code from the disk"
    assert _run(tmp_path, 5, 1) == [15, 0], "a constant changed"
    assert _run(tmp_path, 5, 2) == [25, 0], "the code of a kernel that is called changed"
