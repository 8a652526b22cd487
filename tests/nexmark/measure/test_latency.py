"""The latency histogram against numpy's quantiles of the same values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenring.nexmark.measure.latency import BINS, Histogram, lower_bound_ns

LARGEST_NS = 2**40
SHARES = (0.5, 0.99, 0.999)


def test_bins_are_contiguous_and_at_most_one_part_in_32_wide() -> None:
    bounds = [lower_bound_ns(at) for at in range(BINS)]
    widths = np.diff(bounds)
    assert bounds[0] == 0
    assert (widths > 0).all()
    assert (widths <= np.maximum(1, np.array(bounds[1:]) / 32)).all()


@given(value=st.integers(0, LARGEST_NS))
def test_a_value_falls_into_its_bin(value: int) -> None:
    histogram = Histogram()
    histogram.record(value, value, 1)
    (at,) = np.flatnonzero(histogram.bins)
    assert lower_bound_ns(int(at)) <= value < lower_bound_ns(int(at) + 1)
    assert histogram.max_ms == value / 1e6


@given(values=st.lists(st.integers(0, LARGEST_NS), min_size=1, max_size=300))
def test_quantiles_are_within_a_bin_of_the_exact_ones(values: list[int]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value, value, 1)
    assert histogram.count == len(values)
    assert histogram.max_ms == max(values) / 1e6
    for share in SHARES:
        exact_ns = float(np.quantile(values, share, method="inverted_cdf"))
        assert histogram.quantile_ms(share) == pytest.approx(exact_ns / 1e6, rel=1 / 32, abs=1e-6)


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 1000, 16_384])
def test_a_batch_counts_each_of_its_events(count: int) -> None:
    """The first event of a batch has waited longest; they are spread evenly down to the last."""
    histogram = Histogram()
    histogram.record(2_000_000, 1_000_000, count)
    assert histogram.count == count
    assert histogram.max_ms == 2.0
    exact_ns = np.median(np.linspace(2_000_000, 1_000_000, count))
    assert histogram.quantile_ms(0.5) == pytest.approx(exact_ns / 1e6, rel=0.5 if count < 3 else 1 / 16)


def test_an_event_seen_before_its_instant_counts_as_no_latency() -> None:
    histogram = Histogram()
    histogram.record(-5_000, -1_000, 10)
    assert histogram.bins[0] == 10


def test_a_latency_beyond_the_last_bin_is_kept_there() -> None:
    histogram = Histogram()
    histogram.record(2**60, 2**60, 3)
    assert histogram.bins[BINS - 1] == 3
    assert histogram.max_ms == 2**60 / 1e6


@given(parts=st.lists(st.lists(st.integers(0, LARGEST_NS), max_size=40), min_size=1, max_size=4))
def test_merged_histograms_are_the_histogram_of_all(parts: list[list[int]]) -> None:
    whole, merged = Histogram(), Histogram()
    for part in parts:
        one = Histogram()
        for value in part:
            one.record(value, value, 1)
            whole.record(value, value, 1)
        merged.merge({name: np.asarray(values).tolist() for name, values in one.to_json().items()})
    assert merged.bins.tolist() == whole.bins.tolist()
    assert [merged.quantile_ms(share) for share in SHARES] == [whole.quantile_ms(share) for share in SHARES]
    assert merged.max_ms == whole.max_ms


def test_no_events_have_no_latency() -> None:
    assert Histogram().quantile_ms(0.5) is None
    assert Histogram().max_ms is None
