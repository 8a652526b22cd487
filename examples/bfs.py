"""Breadth-first search: the number of edges of a shortest way from a root to each node, as a loop.

Times in the loop are (epoch, round). In a round, each node that got a lesser distance tells those its edges lead to,
once the frontier says that the round before is finished on all workers. Nobody counts what is left to do: when no
message and no token is at any round of the epoch, the frontier in the loop passes them all, and what the loop has
found leaves it with the token that was kept for that.

    python examples/bfs.py --nodes 500000 --edges 1000000 --workers 2
"""

import argparse
from collections.abc import Iterator
from time import perf_counter

import numpy as np
import pyarrow as pa

import tokenring as tr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--root", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def edges(worker: int, peers: int) -> Iterator[tr.Batch]:  # each worker makes its share
        yield tr.graphs.random_edges(options.nodes, options.edges, options.seed, worker, peers)

    def pipeline(scope: tr.Scope) -> tr.Collected:
        roots = scope.read_arrow(pa.table({"node": [options.root], "distance": [0]}))
        return scope.from_generator(tr.Schema("src dst"), edges).least_values(roots, step=1).collect()

    start = perf_counter()
    found = tr.run(pipeline, workers=options.workers)
    seconds = perf_counter() - start
    for distance, count in enumerate(np.bincount(found["value"])):
        print(f"distance {distance}: {count} nodes")
    print(f"reached {found.num_rows} of {options.nodes} nodes over {options.edges} edges in {seconds:.1f} s")


if __name__ == "__main__":
    main()
