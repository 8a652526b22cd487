"""The oracle: right on an example worked by hand and against a plain Python reading of the definitions."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from nexmark import oracle as oracle_module
from nexmark.errors import InputError
from nexmark.generator import Generator, GeneratorConfig
from nexmark.oracle import CACHE, compare, oracle
from tests.nexmark.helpers import SECOND_NS, auction, bid, seal, table


def naive_q4(auctions: list[dict[str, int]], bids: list[dict[str, int]]) -> list[dict[str, int]]:
    by_id = {row["id"]: row for row in auctions}
    winning: dict[int, int] = {}
    for offer in bids:
        lot = by_id.get(offer["auction"])
        if lot is None or offer["price"] < lot["reserve"]:
            continue
        if lot["date_time"] <= offer["date_time"] < lot["expires"]:
            winning[lot["id"]] = max(winning.get(lot["id"], offer["price"]), offer["price"])
    prices: dict[int, list[int]] = {}
    for number, price in winning.items():
        prices.setdefault(by_id[number]["category"], []).append(price)
    return [{"category": c, "average": sum(p) // len(p), "count": len(p)} for c, p in sorted(prices.items())]


def naive_q7(bids: list[dict[str, int]]) -> list[dict[str, int]]:
    highest: dict[int, int] = {}
    for offer in bids:
        window_end = (offer["date_time"] // (10 * SECOND_NS) + 1) * 10 * SECOND_NS
        highest[window_end] = max(highest.get(window_end, offer["price"]), offer["price"])
    return [{"window_end": end, "price": price} for end, price in sorted(highest.items())]


def generated_rows(config: GeneratorConfig, stream: str, events: int) -> list[dict[str, int]]:
    generator = Generator(config)
    columns = generator.columns(stream, 0, generator.rows(stream))
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*(v.tolist() for v in columns.values()), strict=True)
    ]
    return [row for row in rows if row["event"] < events]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("query", ["q4", "q7"])
def test_against_plain_python(shared_staged: Path, shared_config: GeneratorConfig, query: str) -> None:
    limit = 100_003
    bids = generated_rows(shared_config, "bid", limit)
    expected = naive_q7(bids) if query == "q7" else naive_q4(generated_rows(shared_config, "auction", limit), bids)
    assert len(expected) > 1
    assert compare(oracle(query, shared_staged, limit, master="local[2]"), expected) == []


HUGE = 2**63 - 1


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    auctions = [
        auction(event=0, id=1, reserve=200, date_time=1_000, expires=9_000, category=10),
        auction(event=1, id=-5, reserve=0, date_time=1_000, expires=9_000, category=10),
        auction(event=2, id=3, reserve=0, date_time=5_000, expires=5_000, category=11),  # never open
        auction(event=3, id=4, reserve=0, date_time=0, expires=2 * 10 * SECOND_NS, category=-12),
        auction(event=4, id=5, reserve=0, date_time=0, expires=2 * 10 * SECOND_NS, category=-12),
        auction(event=5, id=6, reserve=-10, date_time=0, expires=9_000, category=13),
    ]
    bids = [
        bid(event=6, auction=1, price=199, date_time=2_000),  # below the reserve
        bid(event=7, auction=1, price=200, date_time=1_000),  # at the reserve, at the start: the first winner
        bid(event=8, auction=1, price=900, date_time=999),  # before the start
        bid(event=9, auction=1, price=900, date_time=9_000),  # at the expiry
        bid(event=10, auction=1, price=301, date_time=8_999),  # the winner of auction 1
        bid(event=11, auction=-5, price=100, date_time=2_000),  # (301 + 100) // 2 = 200
        bid(event=12, auction=3, price=100, date_time=5_000),
        bid(event=13, auction=99, price=100, date_time=5_000),  # of no auction
        bid(event=14, auction=6, price=-3, date_time=5_000),
        bid(event=15, auction=4, price=HUGE, date_time=10 * SECOND_NS - 1),
        bid(event=16, auction=5, price=HUGE, date_time=10 * SECOND_NS),  # the sum passes 64 bits
        bid(event=17, auction=5, price=1, date_time=35 * SECOND_NS),
    ]
    tables = {"person": table("person", [], event=True), "auction": table("auction", auctions, event=True)}
    return seal(tmp_path / "by-hand", tables | {"bid": table("bid", bids, event=True)})


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_an_example_worked_by_hand(by_hand: Path) -> None:
    assert oracle("q4", by_hand, master="local[1]") == [
        {"category": -12, "average": HUGE, "count": 2},
        {"category": 10, "average": 200, "count": 2},
        {"category": 13, "average": -3, "count": 1},
    ]
    assert oracle("q7", by_hand, master="local[1]") == [
        {"window_end": 10 * SECOND_NS, "price": HUGE},
        {"window_end": 20 * SECOND_NS, "price": HUGE},
        {"window_end": 40 * SECOND_NS, "price": 1},
    ]


# ---- the kept answer


def keep(folder: Path, digest: str, answer: list[dict[str, int]]) -> None:
    (folder / CACHE).mkdir(exist_ok=True)
    kept = {"version": 1, "digest": digest, "answer": answer}
    (folder / CACHE / "q4-18.json").write_bytes(orjson.dumps(kept))


def test_a_kept_answer_is_used_only_for_the_same_events(by_hand: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def count_runs(_module: str, arguments: dict[str, object], _scratch: Path) -> list[dict[str, int]]:
        asked.append(arguments["query"])
        return [{"category": 2, "average": 2, "count": 2}]

    monkeypatch.setattr(oracle_module, "run_spark_job", count_runs)
    kept = [{"category": 1, "average": 1, "count": 1}]
    digest = oracle_module.StagedEvents.open(by_hand).digest
    keep(by_hand, digest, kept)
    assert (oracle("q4", by_hand), oracle("q4", by_hand, 10**6), asked) == (kept, kept, [])
    keep(by_hand, "other", kept)
    fresh = oracle("q4", by_hand)
    assert (fresh != kept, asked) == (True, ["q4"])
    assert oracle("q4", by_hand) == fresh
    oracle("q4", by_hand, 17)
    assert asked == ["q4", "q4"]
    (by_hand / CACHE / "q4-18.json").write_bytes(b"{")
    oracle("q4", by_hand)
    assert len(asked) == 3
    assert sorted(os.listdir(by_hand / CACHE)) == ["q4-17.json", "q4-18.json"]


def test_an_unknown_query_and_a_negative_limit(by_hand: Path) -> None:
    with pytest.raises(InputError, match="q4, q7"):
        oracle("q5", by_hand)
    with pytest.raises(InputError, match="must not be negative"):
        oracle("q4", by_hand, -1)


# ---- differences in words

RIGHT = [{"category": 10, "average": 5, "count": 2}, {"category": 11, "average": 6, "count": 3}]


def test_equal_answers_differ_in_nothing() -> None:
    assert compare([dict(row) for row in RIGHT], RIGHT) == []
    assert compare([], []) == []


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ([RIGHT[0]], "category 11: expected {'category': 11, 'average': 6, 'count': 3}, but it is missing"),
        ([*RIGHT, {"category": 12, "average": 1, "count": 1}], "category 12: {'category': 12"),
        ([RIGHT[0] | {"average": 4}, RIGHT[1]], "category 10: average is 4, expected 5"),
        (RIGHT[::-1], "not sorted by category"),
        ([RIGHT[0], *RIGHT], "repeated"),
        ([RIGHT[0], RIGHT[1] | {"more": 1}], "other columns"),
        ([], "category 10: expected"),
    ],
)
def test_differences_are_told(result: list[dict[str, int]], told: str) -> None:
    differences = compare(result, RIGHT)
    assert told in differences[0]


def test_only_the_first_differences_are_told() -> None:
    expected = [{"window_end": end, "price": 1} for end in range(100)]
    differences = compare([], expected)
    assert (len(differences), differences[-1]) == (6, "and 95 more differences")
    assert compare(expected, [])[0].startswith("100 rows where none were expected")
