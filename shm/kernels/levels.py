"""Levels of processors that kernels are compiled for ahead, and which of them this one has: by what it says it can do,
never by its name."""

from collections.abc import Iterable
from typing import NamedTuple

_V2 = ("cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


class Level(NamedTuple):
    """Processors of one kind that can do the same."""

    name: str
    machine: str
    """As `platform.machine()` says it."""
    needs: tuple[str, ...]
    """What a processor must be able to do, as LLVM calls it."""
    tuned_for: str
    """The processor, as LLVM calls it, whose costs of instructions are taken."""


LEVELS = (
    Level("x86-64-v4", "x86_64", (*_V2, *_V3, *_V4), "znver5"),
    Level("x86-64-v3", "x86_64", (*_V2, *_V3), "x86-64-v3"),
    Level("x86-64-v2", "x86_64", _V2, "x86-64-v2"),
    Level("armv8.1-a", "aarch64", ("neon", "lse"), "generic"),
    Level("armv8-a", "aarch64", ("neon",), "generic"),
)
"""The best first, of each machine."""

CAN_PACK = "tokenring.can_pack"
"""The byte, in code that is for any processor, that says whether this one packs words as AVX-512 does."""
_is_for_any = False


def is_for_any_processor() -> bool:
    """Whether code is being made that is to run on any processor, which is asked later what it can do."""
    return _is_for_any


def be_for_any_processor() -> None:
    """Make code for any processor from now on, in this process."""
    global _is_for_any
    _is_for_any = True


# Where each is said: the word of `processor()`, and the bit. Of x86-64 those of cpuid, of ARM64 those of getauxval.
_WORDS = {
    "x86_64": {
        "sse3": (0, 0), "ssse3": (0, 9), "fma": (0, 12), "cx16": (0, 13), "sse4.1": (0, 19), "sse4.2": (0, 20),
        "movbe": (0, 22), "popcnt": (0, 23), "xsave": (0, 27), "avx": (0, 28), "f16c": (0, 29),
        "bmi": (1, 3), "avx2": (1, 5), "bmi2": (1, 8),
        "avx512f": (1, 16), "avx512dq": (1, 17), "avx512cd": (1, 28), "avx512bw": (1, 30), "avx512vl": (1, 31),
        "avx512ifma": (1, 21), "avx512vbmi": (2, 1), "avx512vbmi2": (2, 6), "avx512vnni": (2, 11),
        "avx512bitalg": (2, 12), "avx512vpopcntdq": (2, 14), "gfni": (2, 8), "vaes": (2, 9), "vpclmulqdq": (2, 10),
        "sahf": (3, 0), "lzcnt": (3, 5), "prfchw": (3, 8),
    },
    "aarch64": {"neon": (0, 1), "lse": (0, 8)},
}
_KEPT_BY_THE_SYSTEM = {"avx": 0x6, "avx512": 0xE6}
"""Which bits of the processor's state the system must keep from process to process, for what begins so."""
_STATE = 4


def abilities(machine: str, words: Iterable[int]) -> set[str]:
    """What a processor can do that says these words."""
    said = list(words)
    found = {name for name, (word, bit) in _WORDS.get(machine, {}).items() if said[word] >> bit & 1}
    if machine == "x86_64":
        for begin, bits in _KEPT_BY_THE_SYSTEM.items():
            if said[_STATE] & bits != bits:
                lost = ("f16c", "fma", "vaes", "vpclmulqdq") if begin == "avx" else ()
                found -= {name for name in found if name.startswith(begin) or name in lost}
    return found


def levels_for(machine: str, can: set[str]) -> list[Level]:
    """The levels of a processor that can do so much, the best first."""
    return [level for level in LEVELS if level.machine == machine and can.issuperset(level.needs)]
