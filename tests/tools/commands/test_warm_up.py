"""`tokenring warm-up` compiles what is not compiled, and says when there is nothing to do."""

from __future__ import annotations

import subprocess
import sys

from tests.imports import ROOT


def test_what_is_ready_is_not_compiled_again() -> None:
    command = [sys.executable, "-m", "tokenring", "warm-up"]  # conftest.py has called it before
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all kernels were ready\n", "")
