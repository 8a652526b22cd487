"""Random programs come to what plain Python does: a few of the many that `scripts/storm` plays; each step in some."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from random import SystemRandom

import pytest

from tests.long_form import LONG, examples
from tests.random_programs import KINDS, STEPS, complaint, drawn
from tests.random_programs.rows import Row, Step, columns_of
from tests.random_programs.trial import EPOCHS, Sent, Trial
from tests.random_programs.values import NAN

CASES = {"streams": 40, "collections": 60, "migration": 12, "recovery": 9}
assert CASES.keys() == set(KINDS)


def wrong_of(kind: str, seed: str, does: str = "") -> str:
    """What is wrong about a program; in the short form fewer are under exhaustive checks."""
    trial = drawn(kind, seed, does)
    assert not does or does in [step.does for step in trial.steps]
    return complaint(trial if LONG else replace(trial, doubted=0.01))


def seeds(count: int) -> list[str]:
    """Always the same ones; in the long form new ones, which are printed."""
    begin = f"{SystemRandom().randrange(10**12)}." if LONG else ""
    made = [f"{begin}{number}" for number in range(examples(count))]
    print("seeds", made[0], "to", made[-1])
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_programs_come_to_what_plain_python_does(kind: str) -> None:
    for seed in seeds(CASES[kind]):
        assert not wrong_of(kind, seed)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_at_the_edges_are_drawn(kind: str) -> None:
    """Keys that fall, that never repeat, and near the ends of int64; texts that do not, and long ones; NaN, infinities
    and both zeros; rows at times that nobody knows."""
    seen = Counter([edge for seed in range(60) for edge in _edges(drawn(kind, seed, most=1))])
    assert len(seen) == 8 and min(seen.values()) > 1, seen


def _edges(trial: Trial) -> set[str]:
    rows = [one.row for one in trial.sent]
    keys = [row.k for row in rows if row.k is not None]
    texts = [row.s for row in rows if row.s is not None]
    signs = {math.copysign(1, w) for row, w in zip(rows, columns_of(rows)["w"], strict=True) if row.w is NAN}
    found = {
        "falling": keys == sorted(keys, reverse=True), "never again": len({*keys}) == len(keys),
        "ends": any([abs(key) > 2**62 for key in keys]), "texts never again": len({*texts}) == len(texts),
        "long": any([len(text) > 1_000 for text in texts]), "nan": len(signs) == 2,
        "infinite": any([math.isinf(row.w) for row in rows]),
        "as sent": any(trial.untimed) or any([step.as_sent for step in trial.steps]),
    }  # fmt: skip
    return {edge for edge, is_there in found.items() if is_there and len(rows) > 3}


@pytest.mark.parametrize("does", STEPS)
def test_each_step_does(does: str) -> None:
    for seed in seeds(3)[: None if LONG else 1]:
        assert not wrong_of("migration", seed, does)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "recovery"])
def test_workers_that_are_processes_do(kind: str) -> None:
    for seed in seeds(6):
        assert not complaint(drawn(kind, seed), in_processes=True)


@pytest.mark.parametrize("seed", range(4))
def test_state_behind_an_outer_join_moves_at_the_end_at_last(seed: int) -> None:
    """Rows wait for a move, which waits for rows that the outer join sends last, when all before it has ended: the
    control stream, too, which is not to wait for the rows that wait."""
    key, rows = 0, [Sent(0, 0, 3, 0, Row(11, "", 0.0, 3, 3, 24)), Sent(0, 0, 7, 0, Row(10, None, 1.5, 2, 10, 31))]
    trial = Trial(
        name="", steps=(
            Step("reduce of numbers", (0,), (key, 8, 8, 5)),
            Step("join left of numbers", (2, 2), (3, 11, 5, 8)),
            Step("join right", (0, 3), (5, 10, 4, 7)),
        ),
        sent=tuple(rows), workers=2, bins=2, moves=((5, 0, 0), (6, 1, 0)), ends=(EPOCHS, EPOCHS),
        order=f"{seed}", looked_at=(2, 3, 4),
    )  # fmt: skip
    assert not complaint(trial)
