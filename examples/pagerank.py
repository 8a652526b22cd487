"""PageRank: rounds that all workers go through together, kept apart by the frontier.

Each worker holds one token in the loop, at the round whose shares it has still to send; when it has sent them it
downgrades the token to the next. So the frontier passes a round when all workers have sent, and what they sent was
taken: that is when a node's sum for the round is whole. A worker may be a round ahead of another, never more.

    python examples/pagerank.py --nodes 500000 --edges 1000000 --workers 2
    python examples/pagerank.py --file edges.parquet --nodes 500000 --rounds 100 --out ranks.parquet

In each round, what nodes without edges from them have is lost. --out writes all ranks divided by their sum: then they
are those of a walk that goes on anywhere from such a node.
"""

import argparse
from collections.abc import Iterator
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import tokenring as tr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", help="a Parquet file with columns src and dst, instead of random edges")
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out")
    options = parser.parse_args()

    def edges(worker: int, peers: int) -> Iterator[tr.Batch]:  # each worker makes its share
        yield tr.graphs.random_edges(options.nodes, options.edges, options.seed, worker, peers)

    def pipeline(scope: tr.Scope) -> tr.Collected:
        if options.file is not None:
            rows = scope.read_parquet(options.file, columns=("src", "dst"))
        else:
            rows = scope.from_generator(tr.Schema("src dst"), edges)
        return rows.page_rank(options.nodes, options.rounds).collect()

    start = perf_counter()
    ranks = tr.run(pipeline, workers=options.workers).sort_by([("rank", "descending"), ("node", "ascending")])
    seconds = perf_counter() - start
    for row in ranks.slice(0, 3).to_pylist():
        print(f"node {row['node']}: {row['rank'] * options.nodes:.6f} times the average")
    total = pc.sum(ranks["rank"]).as_py()
    print(f"sum of ranks: {total:.9f}")
    print(f"{options.rounds} rounds over {options.file or f'{options.edges} edges'} in {seconds:.1f} s")
    if options.out is not None:
        pq.write_table(pa.table({"node": ranks["node"], "rank": pc.divide(ranks["rank"], total)}), options.out)


if __name__ == "__main__":
    main()
