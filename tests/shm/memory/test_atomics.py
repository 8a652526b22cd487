"""The atomic words: each operation's effect, and its wrappers for Python."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from typing import Any

import numpy as np
from numba import njit

from tokenring.shm.kernels import address_of, kernel, words_at
from tokenring.shm.memory import atomics
from tokenring.shm.memory.atomics import add, exchange_if, fetch_and, fetch_or, peek, poke
from tokenring.shm.queues.flags import set_flag
from tokenring.shm.queues.parking import fence_now


def test_peek_and_poke_one_word() -> None:
    words = np.arange(4, dtype=np.int64)
    at = address_of(words, 2)
    assert at == address_of(words) + 16
    poke(at, -7)
    assert peek(at) == -7
    assert words.tolist() == [0, 1, -7, 3]


def test_add_returns_what_was_there() -> None:
    words = np.array([5], np.int64)
    assert add(address_of(words), 3) == 5
    assert add(address_of(words), -10) == 8
    assert words[0] == -2


def test_compare_exchange_writes_only_if_expected() -> None:
    words = np.array([5], np.int64)
    assert exchange_if(address_of(words), 4, 9) == 5
    assert words[0] == 5
    assert exchange_if(address_of(words), 5, 9) == 5
    assert words[0] == 9


def test_bits_are_set_and_cleared_and_what_was_there_is_returned() -> None:
    @kernel
    def set_and_clear(address: int, bits: int, kept: int) -> tuple[int, int]:
        return fetch_or(address, bits), fetch_and(address, kept)

    words = np.array([0b0101], np.int64)
    assert set_and_clear(address_of(words), -(2**63) | 0b0110, ~0b0001) == (0b0101, -(2**63) | 0b0111)
    assert words[0] == -(2**63) | 0b0110


def test_the_whole_range_of_a_word() -> None:
    words = np.zeros(1, np.int64)
    for value in (2**63 - 1, -(2**63), 0):
        poke(address_of(words), value)
        assert peek(address_of(words)) == value


def test_a_kernel_sees_the_words_at_an_address() -> None:
    @kernel
    def double(address: int, count: int) -> None:
        view = words_at(address, count)
        for i in range(count):
            view[i] *= 2

    words = np.arange(5, dtype=np.int64)
    double(address_of(words, 1), 3)
    assert words.tolist() == [0, 2, 4, 6, 4]


def test_the_emitted_code_is_atomic() -> None:
    """A plain move would pass every test in one thread: look at what LLVM was told."""

    def emitted(function: Any, *arguments: int) -> str:
        fresh = njit(function.py_func)  # code from the cache cannot be inspected
        fresh(address_of(words), *arguments)
        return "\n".join(fresh.inspect_llvm().values())

    @kernel
    def keep_bits(address: int, bits: int) -> None:  # whose result is used is a loop around cmpxchg on x86
        fetch_and(address, bits)

    words = np.zeros(1, np.int64)
    assert re.search(r"load atomic i64.* acquire", emitted(peek))
    assert re.search(r"store atomic i64.* release", emitted(poke, 0))
    loop = r"|@llvm\.aarch64\.ldaxr(.|\n)*@llvm\.aarch64\.stlxr"  # on ARM64 without LSE
    assert re.search(r"atomicrmw add .* seq_cst" + loop, emitted(add, 0))
    assert re.search(r"atomicrmw or .* seq_cst" + loop, emitted(set_flag, 0))
    assert re.search(r"atomicrmw and .* seq_cst" + loop, emitted(keep_bits, 0))
    assert re.search(r"cmpxchg .* seq_cst seq_cst" + loop, emitted(exchange_if, 0, 0))


def test_a_fence_is_a_full_fence() -> None:
    fresh = njit(fence_now.py_func)
    fresh()
    assert "fence seq_cst" in "\n".join(fresh.inspect_llvm().values())


def test_an_unknown_processor_is_refused() -> None:
    assert platform.machine().lower() in atomics.KNOWN_PROCESSORS
    script = "import platform; platform.machine = lambda: 'riscv64'; import tokenring.shm.memory.atomics"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "riscv64" in done.stderr.splitlines()[-1]
