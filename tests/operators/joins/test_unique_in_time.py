"""A unique side whose rows expire: kept by key slot where the join is compiled, as in Python, and in few bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tests.operators.joins.reference import kept
from tests.operators.joins.test_compiled import FLAGS, SHARES, Sent, chosen_columns, sent_by
from tests.operators.joins.test_narrowed import distinct
from tests.operators.joins.test_one_key import MANY, counted, rows
from tokenring.engine import OperatorError, Schema, Stream
from tokenring.operators import col, interval_join
from tokenring.operators.joins.compiled.words import AT_MOST
from tokenring.operators.joins.kept import AT_ONCE, UniqueSide

A, B = Schema("at k a"), Schema("at k b")
KEYS = st.one_of(st.none(), st.integers(0, 12))
LEFT_ROW = st.tuples(st.integers(0, 40), KEYS, SHARES, FLAGS, st.integers(0, 9), st.integers(0, 60))
RIGHT_ROW = st.tuples(st.integers(0, 40), KEYS, SHARES, FLAGS, st.one_of(st.none(), st.integers(0, 9)))
SENT = st.lists(
    st.one_of(st.tuples(st.just(0), LEFT_ROW), st.tuples(st.just(1), RIGHT_ROW)), min_size=1, max_size=40
)


def reference(sent: Sent, how: str, lower: int, wanted: bool) -> list[Any]:
    """Times of left and right rows that match, and of those that match nothing."""
    lefts, rights = ([row for side, row in sent if side == at] for at in (0, 1))
    lefts = [row for row in lefts if not wanted or row[4] > 3]

    def match(left: Any, right: Any) -> bool:
        return left[1] is not None and left[1] == right[1] and left[0] + lower <= right[0] <= left[5]

    found: list[Any] = [(left[0], right[0]) for left in lefts for right in rights if match(left, right)]
    if how in ("left", "full"):
        found += [(left[0], None) for left in lefts if not any(match(left, right) for right in rights)]
    if how in ("right", "full"):
        found += [(None, right[0]) for right in rights if not any(match(left, right) for left in lefts)]
    return sorted(found, key=repr)


@settings(max_examples=examples(60))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 2),
    how=st.sampled_from(["inner", "left", "right", "full"]),
    unique=st.sampled_from(["left", "right"]),
    lower=st.sampled_from([0, -7, 3]),
    wanted=st.booleans(),
    first=st.sampled_from([None, None, 0, 1]),
    bursts=st.booleans(),
)
def test_where_each_row_has_a_bound_of_its_own(
    sent: Sent, size: int, workers: int, how: str, unique: str, lower: int, wanted: bool, first: int | None,
    bursts: bool,
) -> None:  # fmt: skip
    sent = distinct(sent, ["left", "right"].index(unique))

    def declare(left: Stream, right: Stream) -> Stream:
        return interval_join(
            left, right, on={"key": "code"}, columns=chosen_columns(how), how=how, name="joined", unique=unique,
            left_time="at", right_time="at", lower=lower, upper="until", left_where=col("a") > 3 if wanted else None,
        )  # fmt: skip

    made = sent_by(declare, sent, size, workers, first, True, bursts)
    names = list(chosen_columns(how))
    at, then = 2 + names.index("at"), 2 + names.index("then")
    assert sorted([(row[at], row[then]) for row in made], key=repr) == reference(sent, how, lower, wanted)


@pytest.mark.parametrize("unique", ["left", "right"])
def test_pairs_come_in_pieces(unique: str) -> None:
    """One row meets all that wait for it; those that come later do not wait."""
    sizes: list[int] = []
    side = ["left", "right"].index(unique)

    def declare(left: Stream, right: Stream) -> Stream:
        return counted(
            interval_join(
                left, right, on="k", left_time="at", right_time="at", lower=-5, upper=5, columns="a b", unique=unique
            ),
            sizes,
        )

    with bench([A, B], declare, queue_bytes=1 << 20) as made:
        made.send(rows(MANY, 0, "ba"[side]), to=1 - side)
        made.settle()
        made.send(rows(1, 3, "ab"[side]), to=side, time=3)
        made.settle()
        assert AT_MOST <= max(sizes) <= AT_MOST + AT_ONCE and sum(sizes) == MANY
        made.send(rows(10, 8, "ba"[side]), to=1 - side, time=5)
        made.send(rows(10, 9, "ba"[side]), to=1 - side, time=5)
        made.settle()
        assert sum(sizes) == MANY + 10
        made.send(rows(1, 4, "ab"[side]), to=side, time=4)
        with raises(OperatorError, "operator 'interval_join'", f"{unique} side", "second row with k=7", "unique"):
            made.settle()


def test_slots_of_rows_that_went_are_used_again() -> None:
    """Texts, too: of keys that come and go no more is kept than what is there."""
    a, b = Schema.of({"at": "int64", "k": "int64", "name": "string"}), Schema("at k b")

    def declare(left: Stream, right: Stream) -> Stream:
        return interval_join(
            left, right, on="k", left_time="at", right_time="at", upper=3, columns="name b", unique="left"
        )

    with bench([a, b], declare) as made:
        seen = []
        for turn in range(40):
            at, keys = np.full(500, 10 * turn), turn % 3 * 250 + np.arange(500)
            made.send({"at": at, "k": keys, "name": [f"{turn} of {key}" for key in keys.tolist()]}, time=10 * turn)
            made.send({"at": at + keys % 5, "k": keys, "b": keys}, to=1, time=10 * turn)
            made.settle()
            assert kept(made, "interval_join") == (500, 0)
            seen += [(row[2], row[3]) for row in made.rows]
            made.rows.clear()
            made.advance(10 * turn + 9)
            assert kept(made, "interval_join") == (0, 0)
        keys_of = [(turn, turn % 3 * 250 + key) for turn in range(40) for key in range(500)]
        assert sorted(seen) == sorted([(f"{turn} of {key}", key) for turn, key in keys_of if key % 5 < 4])


def test_a_row_takes_three_words() -> None:
    """Its extent is told by one time, and its key is kept by the keys."""
    side = UniqueSide(None, False)
    side.have_slots(100_000)
    rows_of = side.tables[1]
    assert rows_of.nbytes <= 24 * 2 * 100_000 and rows_of.shape[1] == 3
