"""The ledger of what operators failed at: which keys it still has, and what it tells again once it has forgotten."""

from __future__ import annotations

from tokenring.operators.collections.sharing.faults import Change, Fault, Ledger

HERE, THERE = ("operator", 3), ("operator", 4)
BAD, WELL = Fault("reduce", "key 1", "no row"), Fault("reduce", "key 1", "")


def test_a_key_is_there_until_it_is_right_before_all_who_read() -> None:
    ledger = Ledger()
    ledger.add([Change(*HERE, WELL, [1], 0)])
    assert not ledger.has_keys(HERE), "nothing was ever wrong with it"
    ledger.add([Change(*HERE, BAD, [2], 0), Change(*THERE, BAD, [2], 0), Change(*HERE, WELL, [5], 0)])
    for since, here in ((4, True), (5, False)):
        ledger.forget(since)
        assert (ledger.has_keys(HERE), ledger.has_keys(THERE)) == (here, True)
    assert list(ledger.changes()) == [Change(*THERE, BAD, [2], 0)]
    assert ledger.at(9, lambda place: place == HERE) == {}
    assert ledger.at(9, lambda place: place == THERE) == {BAD: 1}
    assert not ledger.has_keys(("stage", 3))


def test_a_row_may_fail_otherwise_when_it_is_taken_away() -> None:
    ledger = Ledger()
    first, last = [Fault("map_batches", "row", f"call {number}") for number in (1, 2)]
    ledger.add([Change(*HERE, first, [2], 1), Change(*HERE, last, [3], -1)])
    assert ledger.at(2, lambda place: True) == {first: 1}
    assert not any(ledger.at(3, lambda place: True).values())
    ledger.forget(3)
    assert list(ledger.changes()) == []
