"""A worker's memory, as Linux counts it."""


def _status_mb(field: str) -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def peak_rss_mb() -> float:
    """The most memory this process had resident, mapped files and shared segments included, in 10^6 bytes."""
    return _status_mb("VmHWM")


def anonymous_mb() -> float:
    """The memory of its own that this process has resident now, in 10^6 bytes."""
    return _status_mb("RssAnon")
