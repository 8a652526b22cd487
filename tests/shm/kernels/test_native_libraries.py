"""Ctrl-C while a library written in another language loads ends the program, and does not crash it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.imports import ROOT

# What orjson imports while it initialises itself; an exception that comes then is a segmentation fault.
PROGRAM = """
import os, signal, sys

class Interrupting:
    inside = False

    def find_spec(self, name, path=None, target=None):
        self.inside = self.inside or name == "orjson.orjson"
        if self.inside and name == sys.argv[1]:
            print("interrupted", flush=True)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.modules.pop(sys.argv[1], None)
import tokenring as tr
tr.Schema
print("goes on")
"""


@pytest.mark.parametrize("during", ["uuid", "json"])
def test_an_interrupt_while_orjson_loads_comes_behind_it(during: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, during], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (-2, "interrupted\n")
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
