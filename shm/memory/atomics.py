"""Atomic 64-bit words by address, for kernels and for Python; what they are is in `tokenring.shm.memory.intrinsics`."""

import platform
from typing import Any

from tokenring.shm.errors import SharedMemoryError
from tokenring.shm.kernels import Later, int64, kernel, void

KNOWN_PROCESSORS = ("x86_64", "amd64", "aarch64", "arm64")

if platform.machine().lower() not in KNOWN_PROCESSORS:
    raise SharedMemoryError(
        f"TokenRing's memory ordering is argued for {', '.join(KNOWN_PROCESSORS)}; this processor is "
        f"{platform.machine()!r}"
    )

load_acquire: Any = Later("tokenring.shm.memory.intrinsics", "load_acquire")
store_release: Any = Later("tokenring.shm.memory.intrinsics", "store_release")
fetch_add: Any = Later("tokenring.shm.memory.intrinsics", "fetch_add")
fetch_or: Any = Later("tokenring.shm.memory.intrinsics", "fetch_or")
fetch_and: Any = Later("tokenring.shm.memory.intrinsics", "fetch_and")
compare_exchange: Any = Later("tokenring.shm.memory.intrinsics", "compare_exchange")
fence: Any = Later("tokenring.shm.memory.intrinsics", "fence")
load_word: Any = Later("tokenring.shm.memory.intrinsics", "load_word")
store_word: Any = Later("tokenring.shm.memory.intrinsics", "store_word")


@kernel(int64(int64))
def peek(address: int) -> int:
    """`load_acquire` for callers in Python."""
    return load_acquire(address)


@kernel(void(int64, int64))
def poke(address: int, value: int) -> None:
    """`store_release` for callers in Python."""
    store_release(address, value)


@kernel(int64(int64, int64))
def add(address: int, value: int) -> int:
    """`fetch_add` for callers in Python."""
    return fetch_add(address, value)


@kernel(int64(int64, int64, int64))
def exchange_if(address: int, expected: int, value: int) -> int:
    """`compare_exchange` for callers in Python."""
    return compare_exchange(address, expected, value)
