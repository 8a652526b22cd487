"""What can go wrong with shared memory and with kernels, apart from what is a value (full, empty).

TokenRingError              what users catch; the engine has others
├── SharedMemoryError
│   └── SegmentError            a segment cannot be made, found or trusted
│       └── OutOfSharedMemory   /dev/shm has too little room
└── KernelError             a kernel cannot be compiled, or would have to be in a worker
BrokenInvariant             our own protocol was violated: a bug in TokenRing, never the user's fault
"""


class TokenRingError(Exception):
    """Base of every error that is raised on purpose."""


class SharedMemoryError(TokenRingError):
    """Something is wrong with shared memory."""


class SegmentError(SharedMemoryError):
    """A segment cannot be created, attached or trusted (magic, version, layout digest, size)."""


class OutOfSharedMemory(SegmentError):
    """The shared-memory file system has less room than the configuration asks for."""


class KernelError(TokenRingError):
    """A kernel cannot be compiled, is called with what its signature does not say, or a worker would have to compile
    one that it should have got, ready, from the launcher."""


class KernelInWorkerWarning(RuntimeWarning):
    """A kernel is compiled in a worker, since it was declared there."""


class KernelCacheWarning(RuntimeWarning):
    """Compiled kernels cannot be kept on disk."""


class BrokenInvariant(Exception):
    """A protocol of ours was violated; please report it with the message."""
