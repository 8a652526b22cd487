"""What kernels call that is no kernel: entries by their address, memory and the clock of the C library."""

from typing import Any

from tokenring.shm.kernels import Later, int64, kernel

call_at: Any = Later("tokenring.shm.memory.c_functions", "call_at")
allocate: Any = Later("tokenring.shm.memory.c_functions", "allocate")
deallocate: Any = Later("tokenring.shm.memory.c_functions", "deallocate")
copy_bytes: Any = Later("tokenring.shm.memory.c_functions", "copy_bytes")
monotonic_now_ns: Any = Later("tokenring.shm.memory.c_functions", "monotonic_now_ns")


@kernel(int64(int64, int64, int64))
def call(address: int, first: int, second: int) -> int:
    """`call_at` for callers in Python."""
    return call_at(address, first, second)


@kernel(int64())
def now_ns() -> int:
    """`monotonic_now_ns` for callers in Python."""
    return monotonic_now_ns()
