"""Progress: changes to counts, the tables that count, and the frontiers that follow from them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.progress.change_log import (
        CHANGE_BYTES,
        CHANGE_WORDS,
        Change,
        ChangeLog,
        net_what_is_left,
        pack_change,
        pack_two_changes,
        same_coordinates,
    )
    from tokenring.engine.progress.counts import count_at, fingerprint, sum_of_times
    from tokenring.engine.progress.exchange import (
        APPLIED_ANY,
        BROKEN,
        FULL,
        INCOMING,
        PARKED,
        PUBLISHED,
        ROOM,
        ProgressChannel,
        exchange,
    )
    from tokenring.engine.progress.layout import TrackerState, locations_of, operators_of, pool_words
    from tokenring.engine.progress.propagation import current_frontier
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
