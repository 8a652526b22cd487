"""Operators whose answers kernels make elsewhere: their Python forms answer the same while bins move."""

from __future__ import annotations

import pytest

from tests.operators.migrate.random_moves import PROGRAMS, Trial, wrong_of
from tests.operators.migrate.two_benches import only_python

_KINDS = ("running", "each", "final", "of all", "tumbling", "sliding", "session", "distinct", "last_by", "top")
NAMES = [name for name in PROGRAMS if name.startswith((*_KINDS, "word_count"))]


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_without_moves(name: str) -> None:
    with only_python():
        for seed in ("a", "b"):
            assert not wrong_of(Trial(name, seed), seed)
