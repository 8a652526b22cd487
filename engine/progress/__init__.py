"""Progress: changes to counts, the tables that count, and the frontiers that follow from them."""

from tokenring.engine.progress.change_log import CHANGE_BYTES, CHANGE_WORDS, ChangeLog, pack_change, pack_two_changes
from tokenring.engine.progress.exchange import APPLIED_ANY, INCOMING, PARKED, ProgressChannel
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
