"""Tables that grow where they are: the same address, the same values, new places 0; and who has such tables."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from tokenring.engine import Batch, Schema
from tokenring.operators import CountDistinct
from tokenring.operators.folds import BLOCK, Folds, FoldState, Plan, put_pairs
from tokenring.operators.folds.sets.rehashing import REHASHED_A_ROW
from tokenring.operators.state import Keys, grown


def _require_addresses() -> None:
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        pytest.skip("addresses are limited, so tables are copied")


def test_a_large_table_grows_where_it_is() -> None:
    _require_addresses()
    table = np.arange(3 * 64).reshape(64, 3)
    addresses = []
    while len(table) < 1 << 20:
        before = len(table)
        table = grown(table, before + 1, axis=0)
        assert not table[before:].any() and table[before - 1, 2] == 3 * before - 1
        table[before:] = np.arange(3 * before, table.size).reshape(-1, 3)
        if table.nbytes >= 1 << 18:
            addresses.append(table.ctypes.data)
    assert len(set(addresses)) == 1, "it is copied while it is small"
    assert (table.ravel() == np.arange(table.size)).all()


def _batch(a: np.ndarray, b: np.ndarray) -> Batch:
    return Batch(Schema("a b"), {"a": a, "b": b})


def test_keys_that_were_packed_anew_grow_where_they_are() -> None:
    """Their cells were an array of their own once, in huge pages that were all cleared at the first keys."""
    _require_addresses()
    keys = Keys(Schema("a b"), ("a", "b"))
    far, few = np.arange(30_000) * 10**6, np.arange(30_000) % 4  # far apart: in no dense form
    keys.slots(_batch(far, few))
    keys.slots(_batch(far[:1] + 2**56, few[:1]))  # does not fit with the others
    before = keys._cells.ctypes.data, len(keys._cells)
    keys.slots(_batch(far + 1, few))
    keys.slots(_batch(far + 2, few))
    assert keys._cells.ctypes.data == before[0] and len(keys._cells) > before[1]


class _Counted:
    """Different values of two keys."""

    def __init__(self) -> None:
        plan = Plan.of("count", Schema("key value"), ["key"], {"values": CountDistinct("value")})
        self._state, self._folds = FoldState(plan), Folds()
        self._make_room()
        self.set = self._state.values[0]

    def _make_room(self) -> None:
        self._state.make_room(2)
        self._state.link(self._folds)

    def add(self, values: np.ndarray, slot: int = 0) -> None:
        for start in range(0, len(values), BLOCK):
            some = values[start : start + BLOCK]
            slots = np.full(len(some), slot)
            while not put_pairs(self._folds.words, 0, slots, some, np.ones(len(some), np.int64)):
                self._make_room()

    def take_out(self, slot: int) -> np.ndarray:
        return self.set.out(np.array([slot]))[0].words("value")


def test_values_that_were_packed_anew_grow_where_they_are() -> None:
    _require_addresses()
    counted, far = _Counted(), np.arange(60_000) * 10**4
    counted.add(far)
    counted.add(np.array([2**42]))  # does not fit with the others
    before = counted.set._cells.ctypes.data, len(counted.set._cells)
    counted.add(far + 1)
    counted.add(far + 2)
    assert counted.set._cells.ctypes.data == before[0] and len(counted.set._cells) > before[1]


def test_values_in_cells_are_seldom_packed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the bits that nobody else needs: each time half of those that are left."""
    counted, forms = _Counted(), []
    arrange = type(counted.set)._arrange
    monkeypatch.setattr(type(counted.set), "_arrange", lambda self: (forms.append(1), arrange(self)))
    for bits in range(10, 36):
        counted.add(np.arange(2_000) << bits)
    assert 2 <= len(forms) <= 6


def test_values_that_move_beside_many_that_are_gone_have_room() -> None:
    """What is gone is passed over, a few with each row, while new ones come: there are soon more of these than there
    was room for, before all that is left has moved."""
    counted = _Counted()
    counted.add(np.arange(300_000) * 3)
    counted.add(np.arange(30_000) * 3, slot=1)  # as many as just fit into some power of two, and half as many more
    counted.take_out(0)
    counted.add(np.array([2**40]), slot=1)  # does not fit with the others
    counted.add(np.arange(60_000) * 3 + 1, slot=1)
    assert (np.sort(counted.take_out(1)) == np.sort([*range(0, 90_000, 3), 2**40, *range(1, 180_000, 3)])).all()


def _about_to_move() -> tuple[_Counted, list[int]]:
    """A form that is nearly full of new values, to which none has moved of nearly as many: they are behind what is
    gone. And all that slot 1 has."""
    counted, rows = _Counted(), 2_750
    kept = [*range(0, 2 * 1_850, 2)]
    counted.add(np.arange(REHASHED_A_ROW * rows))
    counted.add(np.array(kept), slot=1)
    assert len(counted.set._dense), "in order of slots"
    counted.take_out(0)
    far = 2**40 + np.arange(rows)
    counted.add(far, slot=1)
    assert counted.set._row.old, "more of them have to move"
    assert counted.set._row.live == rows, "none has yet"
    assert len(counted.set._cells) < rows + len(kept), "all have no room there"
    return counted, [*kept, *far.tolist()]


def test_what_moves_with_rows_stops_where_there_is_no_room() -> None:
    """Among cells that are all taken no probe would end."""
    counted, values = _about_to_move()
    counted.add(np.full(BLOCK, 2**40), slot=1)
    counted.add(2**41 + np.arange(BLOCK), slot=1)
    assert (np.sort(counted.take_out(1)) == np.sort([*values, *range(2**41, 2**41 + BLOCK)])).all()


def test_what_moves_at_once_has_room() -> None:
    """Or what found none there would be lost."""
    counted, values = _about_to_move()
    assert (np.sort(counted.take_out(1)) == np.sort(values)).all()
