"""Machine code of a level uses what the level asks for, and nothing besides."""

from __future__ import annotations

import re

import pytest
from llvmlite import binding

from tokenring.shm.kernels.levels import LEVELS, Level
from tokenring.shm.kernels.making.machine_code import TRIPLES, _target_machine

WORDS = """
define i64 @taken(ptr %at) {
  %value = load atomic i64, ptr %at acquire, align 8
  ret i64 %value
}
define i64 @added(ptr %at) {
  %value = atomicrmw add ptr %at, i64 1 seq_cst
  ret i64 %value
}
"""


@pytest.mark.parametrize("level", [each for each in LEVELS if each.machine == "aarch64"], ids=lambda each: each.name)
def test_atomics_of_arm_are_those_of_the_level(level: Level) -> None:
    """A load that acquires is `ldapr` on processors that have RCPC, which some with LSE have not: A64FX, ThunderX2."""
    machine = _target_machine(level)
    module = binding.parse_assembly(WORDS)
    module.triple = TRIPLES[level.machine]
    code = machine.emit_assembly(module)
    assert re.search(r"\bldar\b", code) and not re.search(r"\bldapr\b", code)
    assert bool(re.search(r"\bldaddal\b", code)) == ("lse" in level.needs)
    assert bool(re.search(r"\bldaxr\b", code)) == ("lse" not in level.needs)
