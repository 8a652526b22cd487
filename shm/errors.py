"""What can go wrong with shared memory, apart from what is a value (full, empty).

SharedMemoryError
├── SegmentError            a segment cannot be made, found or trusted
│   └── OutOfSharedMemory   /dev/shm has too little room
└── BrokenInvariant         our own protocol was violated: a bug in TokenRing, never the user's fault
"""


class SharedMemoryError(Exception):
    """Base of every error raised by the shm package."""


class SegmentError(SharedMemoryError):
    """A segment cannot be created, attached or trusted (magic, version, layout digest, size)."""


class OutOfSharedMemory(SegmentError):
    """The shared-memory file system has less room than the configuration asks for."""


class BrokenInvariant(SharedMemoryError):
    """A protocol of ours was violated; please report it with the message."""
