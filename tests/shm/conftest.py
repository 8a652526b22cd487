"""What tests of the library of kernels share: a little one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports import ROOT


@pytest.fixture(scope="session")
def little_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library of samples, for two levels of this processor; never written to by a test."""
    folder = tmp_path_factory.mktemp("little") / "_kernels"
    command = [sys.executable, "-m", "tests.shm.kernels.making.make_samples", folder]
    subprocess.run(command, cwd=ROOT, check=True, timeout=250)
    return folder
