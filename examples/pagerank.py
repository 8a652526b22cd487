"""PageRank: rounds that all workers go through together, kept apart by the frontier.

Each worker holds one token in the loop, at the round whose shares it has still to send; when it has sent them it
downgrades the token to the next. So the frontier passes a round when all workers have sent, and what they sent was
taken: that is when a node's sum for the round is whole. A worker may be a round ahead of another, never more.

    python examples/pagerank.py --nodes 500000 --edges 1000000 --workers 2
"""

import argparse
from time import perf_counter

import numpy as np

import tokenring as tr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def program(worker: tr.Worker) -> list[object]:
        with worker.dataflow("pagerank") as scope:
            edges, stream = scope.new_input(tr.Schema("src dst"), "edges")
            ranked = tr.collect(tr.graphs.page_rank(stream, options.nodes, options.rounds))
        edges.send(tr.graphs.random_edges(options.nodes, options.edges, options.seed, worker.index, worker.peers))
        worker.run()
        nodes, ranks = ranked.columns()["node"], ranked.columns()["rank"]
        top = np.argsort(-ranks)[:3]
        return [float(ranks.sum()), list(zip(ranks[top].tolist(), nodes[top].tolist(), strict=True))]

    start = perf_counter()
    parts = tr.execute(program, workers=options.workers)
    seconds = perf_counter() - start
    for rank, node in sorted((tuple(pair) for _, top in parts for pair in top), reverse=True)[:3]:
        print(f"node {node}: {rank * options.nodes:.6f} times the average")
    print(f"sum of ranks: {sum(total for total, _ in parts):.9f}")
    print(f"{options.rounds} rounds over {options.edges} edges in {seconds:.1f} s")


if __name__ == "__main__":
    main()
