"""What kernels call that is no kernel: entries by their address, the C library's, a processor's own."""

from typing import Any

from tokenring.shm.kernels import Later

call_at: Any = Later("tokenring.shm.memory.c_functions", "call_at")
allocate: Any = Later("tokenring.shm.memory.c_functions", "allocate")
deallocate: Any = Later("tokenring.shm.memory.c_functions", "deallocate")
copy_bytes: Any = Later("tokenring.shm.memory.c_functions", "copy_bytes")
forget_bytes: Any = Later("tokenring.shm.memory.c_functions", "forget_bytes")
reserve_in_file: Any = Later("tokenring.shm.memory.c_functions", "reserve_in_file")
map_file: Any = Later("tokenring.shm.memory.c_functions", "map_file")
map_memory: Any = Later("tokenring.shm.memory.c_functions", "map_memory")
store_unaligned: Any = Later("tokenring.shm.memory.c_functions", "store_unaligned")
unmap: Any = Later("tokenring.shm.memory.c_functions", "unmap")
release_in_file: Any = Later("tokenring.shm.memory.c_functions", "release_in_file")
prefetch: Any = Later("tokenring.shm.memory.c_functions", "prefetch")
monotonic_now_ns: Any = Later("tokenring.shm.memory.c_functions", "monotonic_now_ns")
wall_now_ns: Any = Later("tokenring.shm.memory.c_functions", "wall_now_ns")
can_pack: Any = Later("tokenring.shm.memory.vectors", "can_pack")
pack_eight: Any = Later("tokenring.shm.memory.vectors", "pack_eight")
pack_rest: Any = Later("tokenring.shm.memory.vectors", "pack_rest")
