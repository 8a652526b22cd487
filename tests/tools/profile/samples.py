"""Stacks that tests of profiles make do with."""

from __future__ import annotations

from tokenring.tools.profile.frame import Frame
from tokenring.tools.profile.stacks import Stack

A, B, C = Frame("a", "engine/a.py", 1), Frame("b", "operators/b.py", 2), Frame("<c>", "numba/c.py", 3)
STACKS: list[Stack] = [(A, B), (A, B), (A, C), (A,), (B,), (A, B, A)]
