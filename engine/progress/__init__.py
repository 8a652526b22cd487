"""Progress: changes to counts, the tables that count, and the frontiers that follow from them."""

from tokenring.engine.progress.change_log import (
    CHANGE_BYTES,
    CHANGE_WORDS,
    ChangeLog,
    net_what_is_left,
    pack_change,
    pack_two_changes,
)
from tokenring.engine.progress.exchange import (
    APPLIED_ANY,
    BROKEN,
    FULL,
    INCOMING,
    PARKED,
    ROOM,
    ProgressChannel,
    exchange,
)
from tokenring.engine.progress.layout import (
    LISTS_ADDRESS,
    LOCATION_CAPACITY,
    STATE_WORDS,
    WOKEN_COUNT,
    locations_of,
    operators_of,
    record,
)
from tokenring.engine.progress.propagation import become_eager, current_frontier
from tokenring.engine.progress.tables import GONE, Numbers
from tokenring.engine.progress.tracker import Tracker
from tokenring.engine.progress.validation import (
    NamedLocation,
    PathsTo,
    Pointstamp,
    Validator,
    differences,
    naive_frontier,
)

__all__ = [
    "record",
    "operators_of",
    "net_what_is_left",
    "locations_of",
    "exchange",
    "current_frontier",
    "become_eager",
    "WOKEN_COUNT",
    "STATE_WORDS",
    "ROOM",
    "LOCATION_CAPACITY",
    "LISTS_ADDRESS",
    "FULL",
    "BROKEN",
    "APPLIED_ANY",
    "CHANGE_BYTES",
    "CHANGE_WORDS",
    "ChangeLog",
    "GONE",
    "INCOMING",
    "Numbers",
    "PARKED",
    "PathsTo",
    "NamedLocation",
    "Pointstamp",
    "ProgressChannel",
    "Tracker",
    "Validator",
    "differences",
    "naive_frontier",
    "pack_change",
    "pack_two_changes",
]
