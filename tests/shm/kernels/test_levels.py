"""A processor gets no level that needs what it cannot do, or what the system does not keep for it."""

from __future__ import annotations

import platform
from itertools import pairwise
from pathlib import Path

import pytest

from tokenring.shm.kernels.levels import LEVELS, abilities, levels_for

# As Intel's manual has them: leaf 1's ecx, leaf 7's ebx and ecx, leaf 0x80000001's ecx, and XCR0.
LEAF_1 = {
    "sse3": 0, "ssse3": 9, "fma": 12, "cx16": 13, "sse4.1": 19, "sse4.2": 20, "movbe": 22, "popcnt": 23,
    "xsave": 27, "avx": 28, "f16c": 29,
}  # fmt: skip
LEAF_7 = {"bmi": 3, "avx2": 5, "bmi2": 8, "avx512f": 16, "avx512dq": 17, "avx512cd": 28, "avx512bw": 30, "avx512vl": 31}
EXTENDED = {"sahf": 0, "lzcnt": 5}
SSE_STATE, AVX_STATE, AVX512_STATE = 0x3, 0x7, 0xE7

OF_V2 = {"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"}
OF_V3 = OF_V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
OF_V4 = OF_V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
"""As the x86-64 psABI has them; what every such processor can do apart."""

IN_CPUINFO = {
    "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1", "sahf": "lahf_lm", "lzcnt": "abm",
    "avx512vbmi": "avx512vbmi", "avx512vbmi2": "avx512_vbmi2", "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq", "prfchw": "3dnowprefetch",
    "neon": "asimd", "lse": "atomics",
}  # fmt: skip
"""What Linux calls otherwise."""


def x86(can: set[str], state: int) -> list[int]:
    """The words of an x86-64 that says that it can do so much."""
    one, seven, extended = [
        sum([1 << bit for name, bit in leaf.items() if name in can]) for leaf in (LEAF_1, LEAF_7, EXTENDED)
    ]
    return [one, seven, 0, extended, state]


def names(machine: str, words: list[int]) -> list[str]:
    return [level.name for level in levels_for(machine, abilities(machine, words))]


@pytest.mark.parametrize(
    ("can", "state", "expected"),
    [
        (set(), SSE_STATE, []),
        (OF_V2 - {"xsave"}, 0, ["x86-64-v2"]),
        (OF_V2 | {"avx"}, AVX_STATE, ["x86-64-v2"]),
        (OF_V3, AVX_STATE, ["x86-64-v3", "x86-64-v2"]),
        (OF_V3, SSE_STATE, ["x86-64-v2"]),  # the system keeps no AVX state
        (OF_V4, AVX512_STATE, ["x86-64-v4", "x86-64-v3", "x86-64-v2"]),
        (OF_V4, AVX_STATE, ["x86-64-v3", "x86-64-v2"]),  # nor that of AVX-512
        (OF_V4, AVX512_STATE & ~0x40, ["x86-64-v3", "x86-64-v2"]),  # not all of it
        (OF_V4, AVX512_STATE & ~0x4, ["x86-64-v2"]),
        (OF_V4, 0, ["x86-64-v2"]),
        (OF_V4 - {"avx2"}, AVX512_STATE, ["x86-64-v2"]),
        (OF_V4 - {"popcnt"}, AVX512_STATE, []),
    ],
)
def test_levels_of_made_up_processors(can: set[str], state: int, expected: list[str]) -> None:
    assert names("x86_64", x86(can, state)) == expected


def test_what_needs_state_that_the_system_does_not_keep_cannot_be_done() -> None:
    of_avx = {"avx", "avx2", "f16c", "fma"}
    assert abilities("x86_64", x86(OF_V4, SSE_STATE)) == OF_V3 - of_avx
    assert abilities("x86_64", x86(OF_V4, AVX_STATE)) == OF_V3


@pytest.mark.parametrize(("level", "needs"), [("x86-64-v2", OF_V2), ("x86-64-v3", OF_V3), ("x86-64-v4", OF_V4)])
def test_no_level_without_one_of_its_abilities(level: str, needs: set[str]) -> None:
    assert level in names("x86_64", x86(needs, AVX512_STATE))
    for lost in needs:
        assert level not in names("x86_64", x86(OF_V4 - {lost}, AVX512_STATE)), lost


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        (1 << 0 | 1 << 1, ["armv8-a"]),  # floating point and vectors
        (1 << 0 | 1 << 1 | 1 << 8, ["armv8.1-a", "armv8-a"]),  # and atomic instructions
        (1 << 0 | 1 << 8, []),
        (0x8FB, ["armv8-a"]),  # a Cortex-A53
        (0x119FFB, ["armv8.1-a", "armv8-a"]),  # a Neoverse N1
    ],
)
def test_levels_of_arm(capabilities: int, expected: list[str]) -> None:
    assert names("aarch64", [capabilities, 0]) == expected


def test_other_machines_have_none() -> None:
    assert names("riscv64", []) == names("i686", x86(OF_V4, AVX512_STATE)) == []
    assert levels_for("aarch64", OF_V4) == []


def test_each_level_of_a_machine_needs_more_than_the_next() -> None:
    for better, worse in pairwise(LEVELS):
        if better.machine == worse.machine:
            assert set(better.needs) > set(worse.needs)


def test_this_processor_can_do_what_the_system_says(little_library: Path) -> None:
    from tokenring.shm.kernels.library import ENDING, PROCESSOR, _imported

    machine = platform.machine()
    words = _imported(PROCESSOR, little_library / f"{PROCESSOR}{ENDING}").words()
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next(line for line in lines if line.lower().startswith(("flags", "features"))).split(":")[1].split()
    everything = abilities(machine, [-1] * len(words))
    assert len(everything) > (1 if machine == "aarch64" else 25)
    assert abilities(machine, words) == {name for name in everything if IN_CPUINFO.get(name, name) in flags}
