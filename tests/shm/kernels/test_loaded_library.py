"""Kernels from disk: their symbols stand in their machine code, and functions that are compiled later take them in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import pathlib
import numba
from tokenring.shm.kernels import int64, kernel
from tokenring.shm.kernels.loaded_library import LoadedLibrary, defined_symbols

@kernel(int64(int64))
def twice(number):
    if number < 0:
        raise ValueError("below zero")
    return 2 * number

twice(1)
inner = twice.original()
(found,) = inner.overloads.values()

@numba.njit
def outer(number):
    return inner(number) + 1

library = found.library
print(int(isinstance(library, LoadedLibrary)), outer(20))
functions = {function.name for function in library._get_module_for_linking().functions if not function.is_declaration}
if isinstance(library, LoadedLibrary):
    with open(next(path for path in pathlib.Path(".").rglob("*.nbc")), "rb") as file:
        payload = file.read()
    assert functions <= defined_symbols(payload[payload.index(b"\x7fELF") :]), functions
    assert functions
"""


def test_a_kernel_from_disk_is_taken_in_by_what_is_compiled_later(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for is_loaded in (0, 1):
        command = [sys.executable, "-m", "program"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [str(is_loaded), "41"]
