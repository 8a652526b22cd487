"""Rounds take turns, and ratios are taken within them."""

from __future__ import annotations

import pytest

from tokenring.nexmark.bench.parts import hiccup_row, median_of, paired, spread, take_turns, worst


@pytest.mark.usefixtures("no_memory_made_ready")
@pytest.mark.parametrize(
    ("warm_up", "order", "found"),
    [
        (True, "abcbcacab", {"a": [6, 8], "b": [4, 9], "c": [5, 7]}),
        (False, "abcbca", {"a": [1, 6], "b": [2, 4], "c": [3, 5]}),
    ],
)
def test_rounds_take_turns(warm_up: bool, order: str, found: dict[str, list[int]]) -> None:
    seen: list[str] = []

    def measure(case: str) -> int:
        seen.append(case)
        return len(seen)

    assert take_turns("x", "abc", 2, measure, warm_up) == found
    assert "".join(seen) == order


def test_what_is_concluded_from_rounds() -> None:
    assert spread([3.0, 1.0, 2.0]) == {"median": 2.0, "least": 1.0, "greatest": 3.0}
    assert paired([3.0, 4.0], [2.0, 8.0]) == {"median": 1.0, "least": 0.5, "greatest": 1.5}, "round by round"
    assert (median_of([None, 3.0, 1.0]), median_of([None])) == (2.0, None)
    with pytest.raises(ValueError):
        paired([1.0], [1.0, 2.0])


def test_of_meters_the_worst_counts() -> None:
    meters = [{"p999": 1.0, "max": 5.0, "lost_share": 0.0}, {"p999": 2.0, "max": 4.0, "lost_share": 0.0}]
    assert worst(meters) == {"p999": 2.0, "max": 5.0}
    assert hiccup_row(meters) == {"hiccup_p999_ms": 2.0, "hiccup_max_ms": 5.0}
