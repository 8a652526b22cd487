"""What a tracker's tables say, asked by a kernel."""

from tokenring.engine.progress.counts import count_at, least_positive, sum_of_times
from tokenring.engine.progress.layout import TrackerState
from tokenring.shm.kernels import int64, kernel, record_at


@kernel(int64(int64, int64))
def least_time(address: int, location: int) -> int:
    """The least time with a positive count at a location of the tracker whose state is at this address."""
    return least_positive(record_at(address, TrackerState), location)


@kernel(int64(int64, int64))
def sum_at(address: int, location: int) -> int:
    """The sum of the times that are counted at a location."""
    return sum_of_times(record_at(address, TrackerState), location)


@kernel(int64(int64, int64))
def number_at(address: int, location: int) -> int:
    """How much is counted at a location."""
    return count_at(record_at(address, TrackerState), location)
