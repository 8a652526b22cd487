"""Limits of this process (`ulimit`) under which Java does not start, whatever it says of that itself."""

from __future__ import annotations

import resource
from typing import Final

_FILES: Final = 512
_ADDRESS_BYTES: Final = 16 << 30
_PROCESSES: Final = 256


def low_limits() -> list[str]:
    """Those that are too low for Spark, each with its cure."""
    said = []
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < _FILES:
        said.append(f"`ulimit -n` allows {files} open files, and Spark's Java needs {_FILES}: raise it")
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY and addresses < _ADDRESS_BYTES:
        said.append(f"`ulimit -v` allows {addresses >> 20} MiB, and Java reserves several GiB: lift it")
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY and processes < _PROCESSES:
        said.append(f"`ulimit -u` allows {processes} processes and threads, and Java begins many: raise it")
    return said
