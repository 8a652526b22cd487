"""What operators that run in Python keep of each key: the best row, the best few, sums and extremes; like lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.engine import Batch, Schema
from tokenring.operators import Max, Min
from tokenring.operators.folds.accumulators import Accumulators
from tokenring.operators.folds.plan import Plan
from tokenring.operators.ranking.best import Best
from tokenring.operators.ranking.top_state import TopState

ROWS = Schema("key score tie number")
Row = tuple[int, int, int, int]
PIECES = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1), st.integers(0, 1)), min_size=1, max_size=8),
    min_size=1, max_size=4,
)  # fmt: skip


def _numbered(pieces: list[list[Any]]) -> list[list[Row]]:
    """Each row with its number, which no other row has, and which orders nothing."""
    starts = np.cumsum([0, *map(len, pieces)]).tolist()
    return [[(*row, start + at) for at, row in enumerate(piece)] for start, piece in zip(starts, pieces, strict=False)]


def _batch(rows: list[Row]) -> Batch:
    return Batch(ROWS, {name: [row[at] for row in rows] for at, name in enumerate(ROWS.names)})


def _place(row: Row, largest: bool, ties: tuple[str, ...]) -> tuple[int, ...]:
    return (-row[1] if largest else row[1], *[row[2] for _ in ties])


@settings(max_examples=examples(300), deadline=None)
@given(pieces=PIECES, ties=st.sampled_from([(), ("tie",)]), largest=st.booleans(), equal_wins=st.booleans(),
    each=st.booleans())  # fmt: skip
def test_the_best_row(
    pieces: list[list[Any]], ties: tuple[str, ...], largest: bool, equal_wins: bool, each: bool
) -> None:
    state = Best(ROWS, ["key"], "score", ties, largest, equal_wins, each)
    best: dict[int, tuple[int, ...]] = {}
    for rows in _numbered(pieces):
        won: dict[int, list[int]] = {}
        for row in rows:
            place = _place(row, largest, ties)
            if row[0] not in best or place < best[row[0]] or (equal_wins and place == best[row[0]]):
                best[row[0]] = place
                won.setdefault(row[0], []).append(row[3])
        found = state.winners(_batch(rows))
        told: dict[int, list[int]] = {}
        for key, number in zip(found["key"].tolist(), found["number"].tolist(), strict=True):
            told.setdefault(key, []).append(number)
        assert told == {key: numbers if each else numbers[-1:] for key, numbers in won.items()}


@settings(max_examples=examples(300), deadline=None)
@given(pieces=PIECES, ties=st.sampled_from([(), ("tie",)]), most=st.integers(1, 3), largest=st.booleans(),
    equal_wins=st.booleans(), moves=st.booleans())  # fmt: skip
def test_the_best_rows(
    pieces: list[list[Any]], ties: tuple[str, ...], most: int, largest: bool, equal_wins: bool, moves: bool
) -> None:
    slots = np.arange(3)

    def started() -> TopState:
        state = TopState(ROWS, "score", ties, most, largest, equal_wins)
        state.reset(slots, 3)
        return state

    def ranked(rows: list[Row], key: int) -> list[int]:
        """Stable: of equal rows the first to come is first, or the last of them if the order of coming is turned."""
        of_key = [row for row in (rows[::-1] if equal_wins else rows) if row[0] == key]
        return [row[3] for row in sorted(of_key, key=lambda row: _place(row, largest, ties))[:most]]

    state, seen = started(), list[Row]()
    for rows in _numbered(pieces):
        before = {key: ranked(seen, key) for key in range(3)}
        seen += rows
        after = {key: ranked(seen, key) for key in range(3)}
        changed = state.changes(_batch(rows), np.array([row[0] for row in rows]))
        assert {key for key in after if after[key] != before[key]} <= {*changed.tolist()}, "others may come back"
        assert len({*changed.tolist()}) == len(changed)
        told: dict[int, dict[int, int]] = {key: {} for key in range(3)}
        (columns, _), _ = state.shown(*state.changed_rows(changed))
        for key, number, rank in zip(columns[0].tolist(), columns[3].tolist(), columns[4].tolist(), strict=True):
            told[key][rank] = number
        for key, ranks in told.items():
            assert [ranks.get(rank, was) for rank, was in enumerate([*before[key], *[-1] * most][:most], 1)][
                : len(after[key])
            ] == after[key]
        if moves:
            tables = state.out(slots)
            other = started()
            other.put(3, *_as_put(tables))
            state = other
    (columns, _), _ = state.shown(*state._listed(slots))
    assert columns[3].tolist() == [number for key in range(3) for number in ranked(seen, key)]


def _as_put(tables: Any) -> tuple[list[np.ndarray], list[Batch]]:
    """What a state gave out as it is taken in: the rows with their slots, and no table of keys."""
    _, ((columns, _), which) = tables
    return [np.arange(3), which], [_batch([]), Batch(ROWS, dict(zip(ROWS.names, columns, strict=True)))]


@pytest.mark.parametrize("values", [[7, 2**63 + 1, 3], [2**63 + 1, 2**64 - 1], [5, 7], [0], [2**63, 2**63 - 1]])
def test_extremes_of_unsigned_numbers(values: list[int]) -> None:
    """As numbers, not as the words' signs have them, within one part and over two."""
    schema = Schema.of({"wide": "uint64"})
    plan = Plan.of("test", schema, [], {"least": Min("wide"), "greatest": Max("wide")})
    whole, parts = Accumulators(plan), Accumulators(plan)
    whole.reset(np.arange(1), 1)
    parts.reset(np.arange(2), 2)
    batch = Batch(schema, {"wide": np.array(values, np.uint64)})
    assert not whole.quick, "a word at a time, it would be folded as it is"
    whole.take(batch, np.zeros(len(values), np.int64))
    parts.take(batch, np.arange(len(values)) % 2)
    merged = Accumulators(plan)
    merged.reset(np.arange(1), 1)
    merged.merge(parts, np.arange(2), np.zeros(2, np.int64))
    for state in (whole, merged):
        (least, greatest), _ = state.results(np.arange(1))
        assert (least.view(np.uint64)[0], greatest.view(np.uint64)[0]) == (min(values), max(values))
