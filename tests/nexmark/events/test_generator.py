"""Generated events: their laws, their distribution against NEXMark's table, and that any slice can be made alone."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tokenring.nexmark.events.generator import Generator, GeneratorConfig
from tokenring.nexmark.events.schema import EVENT, STREAMS, TIME_LIMIT_NS
from tokenring.tools.errors import OptionError

STREAM_NAMES = list(STREAMS)


def everything(config: GeneratorConfig, stream: str) -> dict[str, np.ndarray]:
    generator = Generator(config)
    return generator.columns(stream, 0, generator.rows(stream))


configs = st.builds(
    GeneratorConfig,
    events=st.integers(1, 3_000),
    seed=st.integers(0, 5),
    rate=st.sampled_from([1, 7, 1_000_000, 10**9, 10**12, 999_999_999_989]),
    person_proportion=st.integers(1, 3),
    auction_proportion=st.integers(1, 4),
    bid_proportion=st.integers(1, 50),
    in_flight_auctions=st.integers(1, 120),
    active_people=st.integers(1, 50),
    out_of_order_group_size=st.sampled_from([1, 2, 7, 50, 100, 1000, 4096]),
)


@given(configs, st.sampled_from(STREAM_NAMES), st.data())
def test_any_slice_can_be_made_alone(config: GeneratorConfig, stream: str, data: st.DataObject) -> None:
    generator, whole = Generator(config), everything(config, stream)
    start = data.draw(st.integers(0, generator.rows(stream)))
    stop = data.draw(st.integers(start, generator.rows(stream)))
    part = generator.columns(stream, start, stop)
    assert part.keys() == whole.keys()
    for name, values in part.items():
        assert values.dtype == np.int64
        np.testing.assert_array_equal(values, whole[name][start:stop], err_msg=name)


@given(configs)
def test_every_position_is_one_event_of_one_stream(config: GeneratorConfig) -> None:
    positions = [everything(config, stream)[EVENT] for stream in STREAM_NAMES]
    assert all((np.diff(position) > 0).all() for position in positions)
    np.testing.assert_array_equal(np.sort(np.concatenate(positions)), np.arange(config.events))


@given(configs)
def test_more_events_begin_with_the_same_ones(config: GeneratorConfig) -> None:
    longer = GeneratorConfig(**(config.as_dict() | {"events": config.events + 500}))
    for stream in STREAM_NAMES:
        short, long = everything(config, stream), everything(longer, stream)
        for name in short:
            np.testing.assert_array_equal(short[name], long[name][: len(short[name])])


@pytest.mark.parametrize("group", [10, 50, 100, 1000])
def test_disorder_permutes_the_same_events(group: int) -> None:
    ordered = GeneratorConfig(events=10_000, seed=3)
    mixed = GeneratorConfig(events=10_000, seed=3, out_of_order_group_size=group)
    for stream in STREAM_NAMES:
        one, other = everything(ordered, stream), everything(mixed, stream)
        assert stream != "bid" or not np.array_equal(one["date_time"], other["date_time"])
        order = np.argsort(other["date_time"], kind="stable")
        for name in one.keys() - {EVENT}:
            np.testing.assert_array_equal(one[name], other[name][order], err_msg=name)
        # A position moves within its group only.
        period_ns = 1000
        number = (other["date_time"] - mixed.base_time_ns) // period_ns
        np.testing.assert_array_equal(number // group, other[EVENT] // group)


def test_time_is_the_exact_floor_at_any_rate() -> None:
    numbers = np.array([0, 1, 2, 49, 10**6, 10**9 + 7, 2**40 + 1])
    for rate in (1, 3, 10**6, 999_999_937, 10**9, 10**12, 999_999_999_989):
        if 2**41 * 10**9 // rate > 2 * 10**18:
            numbers = numbers[:4]
        config = GeneratorConfig(events=10, rate=rate, base_time_ns=5)
        expected = [5 + int(n) * 10**9 // rate for n in numbers]
        assert Generator(config).time_ns(numbers).tolist() == expected
        numbers = np.array([0, 1, 2, 49, 10**6, 10**9 + 7, 2**40 + 1])


def test_golden_digest_over_machines_and_versions() -> None:
    """The data are part of the contract: a changed digest means that no earlier result can be compared."""
    digest = xxhash.xxh3_64()
    for group in (1, 100):
        generator = Generator(GeneratorConfig(events=100_000, seed=42, out_of_order_group_size=group))
        for stream in STREAM_NAMES:
            for name, values in sorted(generator.columns(stream, 0, generator.rows(stream)).items()):
                digest.update(name.encode())
                digest.update(values.astype("<i8").tobytes())
    assert digest.hexdigest() == "3e4138d95d0f538d"


# ---- the table of NEXMARK.md, over a million events

EVENTS = 1_000_000


@pytest.fixture(scope="module")
def events() -> dict[str, dict[str, np.ndarray]]:
    return {stream: everything(GeneratorConfig(events=EVENTS), stream) for stream in STREAM_NAMES}


def test_mix_and_order_within_fifty(events: dict[str, dict[str, np.ndarray]]) -> None:
    assert {stream: len(columns[EVENT]) for stream, columns in events.items()} == {
        "person": EVENTS // 50,
        "auction": EVENTS // 50 * 3,
        "bid": EVENTS // 50 * 46,
    }
    assert set(events["person"][EVENT] % 50) == {0}
    assert set(events["auction"][EVENT] % 50) == {1, 2, 3}
    assert set(events["bid"][EVENT] % 50) == set(range(4, 50))


def test_ids_are_dense_from_their_first(events: dict[str, dict[str, np.ndarray]]) -> None:
    for stream in ("person", "auction"):
        ids = events[stream]["id"]
        np.testing.assert_array_equal(ids, 1000 + np.arange(len(ids)))


def test_a_bids_auction(events: dict[str, dict[str, np.ndarray]]) -> None:
    auction, number = events["bid"]["auction"], events["bid"][EVENT]
    last = 1000 + number // 50 * 3 + 2
    hot = 1000 + (last - 1000) // 100 * 100
    # Hot with probability 1/2; the others are uniform over 100 in flight, the last, and 10 ahead, and may hit it too.
    share = np.mean(auction == hot)
    assert 0.5 < share < 0.515
    cold = (auction - last)[auction != hot]
    settled = cold[number[auction != hot] > 50 * 100]
    assert (settled.min(), settled.max()) == (-100, 10)
    counts = np.bincount(settled + 100, minlength=111)
    assert counts.min() > 0.9 * counts.mean()
    assert auction.min() >= 1000


def test_a_bids_bidder_has_the_first_id_added_once(events: dict[str, dict[str, np.ndarray]]) -> None:
    bidder, number = events["bid"]["bidder"], events["bid"][EVENT]
    last = 1000 + number // 50
    hot = 1000 + (last - 1000) // 100 * 100 + 1
    assert 0.748 < np.mean(bidder == hot) < 0.752  # 3/4, and 1 in 1010 of the rest
    cold = (bidder - last)[(bidder != hot) & (number > 50 * 1000)]
    assert (cold.min(), cold.max()) == (-999, 10)
    assert bidder.min() >= 1000


def test_an_auctions_seller(events: dict[str, dict[str, np.ndarray]]) -> None:
    seller, number = events["auction"]["seller"], events["auction"][EVENT]
    last = 1000 + number // 50
    hot = 1000 + (last - 1000) // 100 * 100
    assert 0.74 < np.mean(seller == hot) < 0.76
    cold = (seller - last)[(seller != hot) & (number > 50 * 1000)]
    assert (cold.min(), cold.max()) == (-999, 10)


def test_price_is_log_uniform(events: dict[str, dict[str, np.ndarray]]) -> None:
    for prices in (events["bid"]["price"], events["auction"]["initial_bid"]):
        assert prices.min() >= 100
        assert prices.max() <= 10**8
        counts, _ = np.histogram(np.log10(prices / 100), bins=12, range=(0, 6))
        assert counts.max() / counts.min() < 1.1


def test_reserve_is_initial_bid_and_another_price(events: dict[str, dict[str, np.ndarray]]) -> None:
    more = events["auction"]["reserve"] - events["auction"]["initial_bid"]
    assert more.min() >= 100
    assert more.max() <= 10**8
    assert abs(np.corrcoef(np.log(more), np.log(events["auction"]["initial_bid"]))[0, 1]) < 0.02


def test_categories_are_uniform(events: dict[str, dict[str, np.ndarray]]) -> None:
    values, counts = np.unique(events["auction"]["category"], return_counts=True)
    assert values.tolist() == [10, 11, 12, 13, 14]
    assert counts.min() / counts.max() > 0.95


def test_expiry_is_one_and_uniform_below_twice_the_horizon(events: dict[str, dict[str, np.ndarray]]) -> None:
    length_ns = events["auction"]["expires"] - events["auction"]["date_time"]
    horizon_ns = 100 * 50 // 3 * 1000
    assert length_ns.min() >= 1
    assert length_ns.max() <= 2 * horizon_ns
    assert abs(length_ns.mean() / horizon_ns - 1) < 0.02


def test_fields_are_independent(events: dict[str, dict[str, np.ndarray]]) -> None:
    bids = events["bid"]
    hot = bids["auction"] == 1000 + (bids[EVENT] // 50 * 3 + 2) // 100 * 100
    hot_bidder = bids["bidder"] == 1000 + bids[EVENT] // 50 // 100 * 100 + 1
    columns = np.stack([hot, hot_bidder, np.log(bids["price"])]).astype(float)
    correlation = np.corrcoef(columns)
    assert np.abs(correlation - np.eye(3)).max() < 0.005


def test_seeds_differ() -> None:
    one, other = (everything(GeneratorConfig(events=10_000, seed=seed), "bid")["price"] for seed in (1, 2))
    assert np.mean(one == other) < 0.01


# ---- parameters out of range


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"events": 0}, ("events", "0", "between 1")),
        ({"rate": 0}, ("rate", "0", "between 1", f"{10**12}")),
        ({"rate": 10**12 + 1}, ("rate", f"{10**12 + 1}", f"{10**12}")),
        ({"seed": -1}, ("seed", "-1", "between 0")),
        ({"seed": 2**63}, ("seed", f"{2**63}", f"{2**63 - 1}")),
        ({"base_time_ns": TIME_LIMIT_NS}, ("base_time_ns", f"{TIME_LIMIT_NS}", f"{TIME_LIMIT_NS - 1}")),
        ({"bid_proportion": 0}, ("bid_proportion", "0", "between 1")),
        ({"categories": 0}, ("categories", "0", "between 1")),
        ({"hot_auction_ratio": 0}, ("hot_auction_ratio", "0", "between 1")),
        ({"out_of_order_group_size": 953 * 2}, ("out_of_order_group_size", "1906", "multiple of 953")),
        ({"out_of_order_group_size": 2**21}, ("out_of_order_group_size", f"{2**21}", f"{2**20}")),
        ({"events": 10**12, "rate": 1}, (f"{10**12} events", "1/s", f"{TIME_LIMIT_NS} ns")),
        ({"rate": 2.5}, ("rate", "integer", "not 2.5")),
        ({"seed": True}, ("seed", "integer", "not True")),
    ],
)
def test_a_parameter_out_of_range_is_named(changes: dict[str, int], named: Fact) -> None:
    with raises(OptionError, named):
        GeneratorConfig(**({"events": 100} | changes))
