"""The words of a group's board by which a snapshot is taken while rows stand.

Files would do, and cost each step of it most of a millisecond. Each word has one writer, who says it once what it
speaks of is so (`snapshot`, in docs/concurrency.md). Numbers of requests and of attempts rise for as long as the group
runs, so what is left of an earlier one is taken for nothing.
"""

# Of each worker
STOOD = 0  # the request for which its sources stand; or that it has not built its dataflow yet (`unbuilt`)
STOOD_NS = 1  # since when, before STOOD
RESTS = 2  # the position of the ring, plus one, at which nothing is to be done here; 0: something is
FROZEN = 3  # the attempt for which it runs no operator any more,
FROZEN_AT = 4  # and at which position, plus one; before FROZEN
TAKEN = 5  # the attempt of which it has made its copy
WRITTEN = 6  # the request for which the copy has ended,
STATUS = 7  # and how; before WRITTEN
STILL = 8  # of worker 0: the request for which no state moves any more, where it is in bins
READ = 9  # how many rows its sources have sent, since the job began; at first, up to the snapshot that is gone on from

# Of who asks
FREEZE = 0  # the attempt for which all are to freeze
DECIDED = 1  # the attempt that is decided, and whether copies are made: `decision`


def unbuilt(request: int) -> int:
    """What a worker says to a request before it has built its dataflow."""
    return -request


def decision(attempt: int, take: bool) -> int:
    """What DECIDED says."""
    return attempt << 1 | take
