"""Live migration: keyed state in bins that move between workers while the stream goes on (Megaphone)."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.migrate.answering import Migrating
    from tokenring.operators.migrate.asking import bins_of
    from tokenring.operators.migrate.bins import Bins, Leaving, key_words, workers_of
    from tokenring.operators.migrate.builder import HeldBackWarning, MigratingBuilder
    from tokenring.operators.migrate.mover import Mover
    from tokenring.operators.migrate.moves import (
        DUE,
        Led,
        Moves,
        Offered,
        Offering,
        Staying,
        Table,
        at_first_message,
        hears_of_ends,
        of_version,
        offer,
        offers_to,
        put_in,
        require_keys,
        require_movable,
        state_moves,
        staying,
        take_out,
        without_addresses,
    )
    from tokenring.operators.migrate.placement import Change, Finished, Placement, Placements, Waiting
    from tokenring.operators.migrate.plans import PLANS, Step, require_plan
    from tokenring.operators.migrate.rebalance import Balance, Rebalance
    from tokenring.operators.migrate.used import (
        METER,
        goes_by_times,
        has_bins,
        is_by_times,
        made_again,
        saving_of,
        sends_at_any_times,
        use_bins,
    )
