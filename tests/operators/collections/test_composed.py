"""Aggregates of streams as collections that other queries compute with: NEXMark's shapes, beside recomputation."""

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.collections.harness import TIMES, Rows, at
from tokenring import Collection

BID = tr.Schema("auction bidder price", weight="float64?")
Bids = list[tuple[int, int, int, int]]


def drawn(seed: int, rows: int = 60) -> Bids:
    """(auction, bidder, price, time); prices are different."""
    random = np.random.default_rng(seed)
    prices = random.permutation(rows)
    columns = random.integers(0, 6, rows), random.integers(0, 4, rows), prices, random.integers(0, TIMES, rows)
    return list(zip(*[column.tolist() for column in columns], strict=True))


def by(bids: Bids, column: int) -> dict[int, Bids]:
    ordered = sorted(bids, key=lambda bid: bid[column])
    return {key: list(rows) for key, rows in groupby(ordered, lambda bid: bid[column])}


def average_of_best(bids: Bids) -> Rows:
    """As q4: of each category, the average of its auctions' best prices."""
    best = defaultdict(list)
    for auction, rows in by(bids, 0).items():
        best[auction % 2].append(max(price for _, _, price, _ in rows))
    return Counter([(category, len(prices), sum(prices) / len(prices)) for category, prices in best.items()])


def hottest(bids: Bids) -> Rows:
    """As q5: the auction with the most bids."""
    counts = [(auction, len(rows)) for auction, rows in by(bids, 0).items()]
    return Counter(sorted(counts, key=lambda row: row[::-1])[-1:])


def last_bids(bids: Bids) -> Rows:
    """As q18: how many auctions have each bidder's bid as their last one, which is the one of the highest price."""
    return Counter(Counter(max(rows, key=lambda bid: bid[2])[1] for rows in by(bids, 0).values()).items())


def best_two(bids: Bids) -> Rows:
    """As q19: the sum of each bidder's bids that are among the best two of an auction."""
    total: dict[int, int] = defaultdict(int)
    for rows in by(bids, 0).values():
        for _, bidder, price, _ in sorted(rows, key=lambda bid: -bid[2])[:2]:
            total[bidder] += price + 1  # a sum of 0 is one as well
    return Counter(total.items())


def best_two_bidders(bids: Bids) -> Rows:
    """Each auction's bids by the bidders of the greatest numbers: two bids, and all by whom the second of them is."""
    found: Rows = Counter()
    for auction, rows in by(bids, 0).items():
        bidders = sorted((bid[1] for bid in rows), reverse=True)
        found += Counter([(auction, bidder) for bidder in bidders if bidder >= bidders[:2][-1]])
    return found


QUERIES: dict[str, tuple[Callable[[Any], Collection], Callable[[Bids], Rows]]] = {
    "average of best": (
        lambda bids: bids.aggregate(
            ("auction", (tr.col("auction") % 2).alias("category")), tr.Max("price").alias("name"), changes=True
        ).aggregate("category", n=tr.Count(), m=tr.Mean("name")),
        average_of_best,
    ),
    "hottest": (lambda bids: bids.count("auction", changes=True).top("", "count auction"), hottest),
    "last bids": (
        lambda bids: bids.last_by("auction", order="price", changes=True).count("bidder"),
        last_bids,
    ),
    "best two": (
        lambda bids: (
            bids.top(tr.col("auction") + 1, order=tr.col("price") * 2, k=2, changes=True)
            .with_columns(more=tr.col("price") + 1)
            .aggregate("bidder", s=tr.Sum("more"))
        ),
        best_two,
    ),
    "smallest": (
        lambda bids: bids.top(order="price", k=3, largest=False, ties="auction", changes=True).select("price"),
        lambda bids: Counter([(price,) for price in sorted(bid[2] for bid in bids)[:3]]),
    ),
    "best two, and their equals": (
        lambda bids: bids.top("auction", order="bidder", k=2, ties="all", changes=True).select("auction", "bidder"),
        best_two_bidders,
    ),
    "least of all, and its equals": (
        lambda bids: bids.top(order="bidder", k=1, largest=False, ties="all", changes=True).select("bidder", "price"),
        lambda bids: Counter([(bid[1], bid[2]) for bid in bids if bid[1] == min(other[1] for other in bids)]),
    ),
    "how many auctions of each count": (
        lambda bids: bids.aggregate("auction", n=tr.Count(), changes=True).count("n"),
        lambda bids: Counter(Counter(len(rows) for rows in by(bids, 0).values()).items()),
    ),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", QUERIES)
def test_every_time_has_what_comes_of_its_bids(name: str, workers: int) -> None:
    build, expected = QUERIES[name]
    bids = drawn(workers)

    def program(worker: tr.Worker) -> list[Any]:
        random = np.random.default_rng(worker.index)
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(BID)
            made = build(stream).changes().collect()
        mine = [bids[number] for number in random.permutation(len(bids)) if number % worker.peers == worker.index]
        for time in range(TIMES):
            for auction, bidder, price, _ in [bid for bid in mine if bid[3] == time]:
                handle.send({"auction": [auction], "bidder": [bidder], "price": [price], "weight": [None]})
            handle.advance_to(time + 1)
            if random.integers(2):
                worker.step()
        worker.run()
        return list(zip(*[column.tolist() for column in made.columns().values()], strict=True))

    found = [row for part in tr.execute(program, workers=workers) for row in part]
    for time in range(TIMES):
        assert at(found, time) == expected([bid for bid in bids if bid[3] <= time]), time


def test_results_of_windows_are_there_from_their_end_on() -> None:
    """As q5's windows: how many windows had each number of bids, once they have ended."""

    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(tr.Schema("key at"))
            counts = stream.aggregate("key", window=tr.Tumbling("at", 10), n=tr.Count(), changes=True)
            best = stream.top("key", order="at", k=1, window=tr.Tumbling("at", 10), changes=True)
            made = counts.count("n").changes().collect(), best.count("key").changes().collect()
        for at_time in (1, 3, 12, 25):
            handle.advance_to(at_time)
            handle.send({"key": [1, 2], "at": [at_time, at_time + 5]})
        worker.run()
        return [list(zip(*[column.tolist() for column in rows.columns().values()], strict=True)) for rows in made]

    counts, best = tr.execute(program, workers=1)[0]
    assert at(counts, 9) == Counter()
    assert at(counts, 10) == Counter({(2, 2): 1})
    assert at(counts, 40) == Counter({(2, 2): 1, (1, 4): 1})
    assert at(best, 20) == Counter({(1, 2): 1, (2, 2): 1})


HOW: dict[str, Callable[[Bids, Bids], list[tuple[Any, ...]]]] = {
    "inner": lambda left, right: [(a, p, q) for a, _, p, _ in left for b, _, q, _ in right if a == b],
    "left": lambda left, right: (
        HOW["inner"](left, right) + [(a, p, None) for a, _, p, _ in left if a not in by(right, 0)]
    ),
    "right": lambda left, right: (
        HOW["inner"](left, right) + [(a, None, p) for a, _, p, _ in right if a not in by(left, 0)]
    ),
    "full": lambda left, right: (
        HOW["left"](left, right) + [(a, None, p) for a, _, p, _ in right if a not in by(left, 0)]
    ),
    "semi": lambda left, right: [(a, p) for a, _, p, _ in left if a in by(right, 0)],
    "anti": lambda left, right: [(a, p) for a, _, p, _ in left if a not in by(right, 0)],
}


@pytest.mark.parametrize("how", HOW)
def test_joins_take_back_what_was_alone(how: str) -> None:
    """Their results counted, by what is alone too."""
    bids = {"left": drawn(3, 12), "right": drawn(4, 8)}
    columns: Any = {"auction": "left.auction", "p": "left.price"}
    if how not in ("semi", "anti"):
        columns = {"auction": "auction", "p": "left.price", "q": "right.price"}

    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            sides = {name: scope.new_input(BID, name) for name in bids}
            joined = sides["left"][1].join(
                sides["right"][1], on="auction", columns=columns, how=how, changes=True, left_where=tr.col("price") >= 0
            )
            made = joined.changes().collect(), joined.count("auction", name="counts").changes().collect()
        for time in range(TIMES):
            for name, (handle, _) in sides.items():
                mine = [bid for bid in bids[name][worker.index :: worker.peers] if bid[3] == time]
                given = {column: [bid[number] for bid in mine] for number, column in enumerate(BID.names[:3])}
                handle.send({**given, "weight": [None] * len(mine)})
                handle.advance_to(time + 1)
            worker.step()
        worker.run()
        return [list(zip(*[column.tolist() for column in rows.columns().values()], strict=True)) for rows in made]

    parts = tr.execute(program, workers=2)
    rows, counts = [[row for part in parts for row in part[number]] for number in range(2)]
    for time in range(TIMES):
        there = HOW[how](*[[bid for bid in each if bid[3] <= time] for each in bids.values()])
        assert at(rows, time) == Counter(there), time
        assert at(counts, time) == Counter(Counter(row[0] for row in there).items()), time


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (lambda s: s.count("auction", emit="each", changes=True), ("operator 'count'", "emit='each'", "changes=")),
        (
            lambda s: s.last_by("auction", order="price", emit="final", changes=True),
            ("operator 'last_by'", "emit='final'", "changes="),
        ),
        (
            lambda s: s.top("auction", order="price", k=1, emit="batch", changes=True),
            ("operator 'top'", "emit='batch'", "changes="),
        ),
        (
            lambda s: s.aggregate("auction", x=tr.Last("price"), changes=True),
            ("operator 'aggregate'", "x is to be Count(), or Count, CountDistinct"),
        ),
        (
            lambda s: s.aggregate("auction", window=tr.Tumbling("price", 5), late=True, n=tr.Count(), changes=True),
            ("operator 'aggregate'", "late=True", "changes="),
        ),
        (
            lambda s: s.count("auction").count("count", changes=True),
            ("operator 'count'", "updates", "same auction", "as_rows(stream)"),
        ),
        (
            lambda s: s.join(s, on="auction", columns="left.price", unique="left", changes=True),
            ("operator 'join'", "changes=True", "unique=", "late="),
        ),
    ],
)
def test_what_does_not_change_so_is_refused(wrong: Callable[..., Any], cure: Fact) -> None:
    with raises(tr.UsageError, cure):
        wrong(tr.Scope("wrong").new_input(BID)[1])
