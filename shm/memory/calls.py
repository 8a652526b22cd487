"""What kernels call that is no kernel: entries by their address, memory and the clock of the C library."""

from typing import Any

from tokenring.shm.kernels import Later

call_at: Any = Later("tokenring.shm.memory.c_functions", "call_at")
allocate: Any = Later("tokenring.shm.memory.c_functions", "allocate")
deallocate: Any = Later("tokenring.shm.memory.c_functions", "deallocate")
copy_bytes: Any = Later("tokenring.shm.memory.c_functions", "copy_bytes")
monotonic_now_ns: Any = Later("tokenring.shm.memory.c_functions", "monotonic_now_ns")
