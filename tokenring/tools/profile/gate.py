"""Where workers wait until a profiler has attached to them."""

from __future__ import annotations

import os


def wait_at_gate(gate: int) -> None:
    """Sleep until the pipe's writing end is closed; samples taken here are before the run and are left out."""
    os.read(gate, 1)
