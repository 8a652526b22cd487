"""NEXMark Q4 by hand: the average winning price of closed auctions by category, from three library operators.

`tokenring run q4` does this over staged events; here they are generated in memory and fed in blocks of event time.

    python examples/nexmark_q4.py --events 200000
"""

import argparse

import numpy as np

import tokenring as tr
from tokenring.nexmark.events import Generator, GeneratorConfig

AUCTION = tr.Schema("id date_time expires reserve category")
BID = tr.Schema("auction date_time price")
BLOCK_ROWS = 8192


def chosen(schema: tr.Schema, columns: dict[str, np.ndarray], low: int, high: int) -> tr.Batch:
    """The rows whose time lies in low..high-1; times are in order."""
    first, last = columns["date_time"].searchsorted([low, high])
    return tr.Batch(schema, {name: columns[name][first:last] for name in schema.names})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    generator = Generator(GeneratorConfig(events=options.events))
    auction_rows = generator.columns("auction", 0, generator.rows("auction"))
    bid_rows = generator.columns("bid", 0, generator.rows("bid"))
    ends = [*bid_rows["date_time"][BLOCK_ROWS::BLOCK_ROWS].tolist(), 2**62 - 1]

    def program(worker: tr.Worker) -> dict[str, np.ndarray]:
        with worker.dataflow("q4") as scope:
            auctions, auction_stream = scope.new_input(AUCTION, "auctions")
            bids, bid_stream = scope.new_input(BID, "bids")
            winners = auction_stream.best_offers(
                bid_stream, key="id", start="date_time", end="expires", threshold="reserve",
                payload="category", offer_key="auction", offer_time="date_time", offer_value="price",
            )  # fmt: skip
            averages = winners.running_average(key="category", value="price")
            kept = averages.latest(key="category")
            probe = averages.probe()
        start = 0
        for block, end in enumerate(ends):
            if block % worker.peers == worker.index:  # blocks are dealt to the workers in turn
                auctions.send(chosen(AUCTION, auction_rows, start, end))
                bids.send(chosen(BID, bid_rows, start, end))
            auctions.advance_to(end)  # everybody promises: nothing before `end` any more
            bids.advance_to(end)
            worker.step_while(lambda: probe.less_than(start))  # noqa: B023 - at most two blocks are under way
            start = end
        worker.run()
        return kept.columns()

    rows: list[tuple[int, int, int]] = []
    for part in tr.execute(program, workers=options.workers):
        rows += zip(part["category"], part["average"], part["count"], strict=True)
    for category, average, count in sorted(rows):
        print(f"category {category}: average {average} over {count} auctions")


if __name__ == "__main__":
    main()
