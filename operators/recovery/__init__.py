"""Recovery: snapshots of a running dataflow, from which the group goes on after a death, and results exactly once."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.recovery.export import operators_of, require_operator, write_state
    from tokenring.operators.recovery.folder import (
        JobFolder,
        Snapshot,
        dead_letters_in,
        dead_letters_of,
        finished_of,
        gives_up,
        have_folder,
        inserted_until,
        number_of,
        outbox_of,
        part_number,
        require_there,
        say_inserted,
    )
    from tokenring.operators.recovery.installing import InstallingSaved, RemovingSaved
    from tokenring.operators.recovery.keeping import execute_with_recovery, take_now, tell_last
    from tokenring.operators.recovery.of_worker import WorkerSaving
    from tokenring.operators.recovery.options import Recovery
    from tokenring.operators.recovery.refusals import refused_to
    from tokenring.operators.recovery.saved import SavedRows, SavedSink, SavedSource
    from tokenring.operators.recovery.saving import Saving
    from tokenring.operators.recovery.taking import Taking
    from tokenring.operators.recovery.wanted import OneMore, Wanted
