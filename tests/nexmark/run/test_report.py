"""What people are told of a run: figures in their words."""

from __future__ import annotations

import pytest

from tokenring.nexmark.run.report import count, in_ms


@pytest.mark.parametrize(("value", "said"), [(0, "0"), (999_999, "999,999"), (1e6, "1.00 M"), (12_345_678, "12.35 M")])
def test_events_are_counted_in_millions_from_a_million_on(value: float, said: str) -> None:
    assert count(value) == said


def test_a_latency_that_is_not_there_is_a_dash() -> None:
    assert (in_ms(None), in_ms(0.0), in_ms(1.5)) == ("-", "0.000", "1.500")
