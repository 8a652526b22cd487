"""Keyed state that moves between workers: a worker's keys by slot, and what is kept of slots, as tables of columns."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.state.moving.kept_words import KeptWords, word_tables
    from tokenring.operators.state.moving.key_slots import (
        KeySlots,
        MovingKeys,
        MovingKeyWords,
        OneKey,
        leaving_slots,
        live_slots,
    )
    from tokenring.operators.state.moving.keyed import (
        Kept,
        KeyedMoves,
        Rows,
        no_more,
        rows_out,
        slots_by_table,
        tables_of,
    )
    from tokenring.operators.state.moving.rows_by_time import RowsByTime, sent_by_time, sent_in_order, times_table
    from tokenring.operators.state.moving.waiting import RowsThatWait, Waiting, WaitingMoves
