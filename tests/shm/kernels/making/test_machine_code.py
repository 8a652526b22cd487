"""Machine code of a level uses what the level asks for, and nothing besides; functions count references themselves."""

from __future__ import annotations

import ctypes
import re

import pytest
from llvmlite import binding

from tokenring.shm.kernels.levels import LEVELS, Level
from tokenring.shm.kernels.making.machine_code import TRIPLES, _take_in_references, _target_machine

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


SHARES = """
@freed = global i64 0
declare void @NRT_incref(ptr)
declare void @NRT_decref(ptr)
define void @NRT_MemInfo_call_dtor(ptr %info) noinline {
  %count = load i64, ptr @freed
  %more = add i64 %count, 1
  store i64 %more, ptr @freed
  ret void
}
define i64 @shared(ptr %info) {
  call void @NRT_incref(ptr %info)
  call void @NRT_incref(ptr %info)
  call void @NRT_decref(ptr %info)
  call void @NRT_decref(ptr %info)
  %before = load i64, ptr @freed
  call void @NRT_decref(ptr %info)
  %after = load i64, ptr @freed
  %of.one = mul i64 %before, 10
  %both = add i64 %of.one, %after
  ret i64 %both
}
define void @of_nothing() {
  call void @NRT_incref(ptr null)
  call void @NRT_decref(ptr null)
  ret void
}
"""


def test_what_a_kernel_made_is_given_back_once_with_its_last_reference() -> None:
    machine = binding.Target.from_default_triple().create_target_machine()
    module = binding.parse_assembly(SHARES)
    module.triple = binding.get_default_triple()
    _take_in_references(module, machine)
    assert "@NRT_incref" not in str(module) and "@NRT_decref" not in str(module), "what has no call can be optimised"
    body = str(module.get_function("of_nothing")).split("{")[1]
    assert "load" not in body and "call" not in body, "arrays that own nothing cost nothing"
    with binding.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        shared = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(engine.get_function_address("shared"))
        info = (ctypes.c_int64 * 6)(1)
        assert (shared(ctypes.addressof(info)), info[0]) == (1, 0), "none before, one after"
        info[0] = 3
        assert (shared(ctypes.addressof(info)), info[0]) == (11, 2), "and none while somebody has it"
