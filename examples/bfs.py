"""Breadth-first search: the number of edges of a shortest way from a root to each node, as a loop.

Times in the loop are (epoch, round). In a round, each node that got a lesser distance tells those its edges lead to,
once the frontier says that the round before is finished on all workers. Nobody counts what is left to do: when no
message and no token is at any round of the epoch, the frontier in the loop passes them all, and what the loop has
found leaves it with the token that was kept for that.

    python examples/bfs.py --nodes 500000 --edges 1000000 --workers 2
"""

import argparse
from time import perf_counter

import numpy as np

import tokenring as tr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--root", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def program(worker: tr.Worker) -> np.ndarray:
        with worker.dataflow("bfs") as scope:
            edges, edge_rows = scope.new_input(tr.Schema("src dst"), "edges")
            roots, root_rows = scope.new_input(tr.Schema("node distance"), "roots")
            found = edge_rows.least_values(root_rows, step=1).collect()
        edges.send(tr.graphs.random_edges(options.nodes, options.edges, options.seed, worker.index, worker.peers))
        if worker.index == 0:
            roots.send({"node": [options.root], "distance": [0]})
        worker.run()  # closes both inputs: epoch 0 can be finished
        return np.bincount(found.columns()["value"])  # how many of this worker's nodes are how far

    start = perf_counter()
    parts = tr.execute(program, workers=options.workers)
    seconds = perf_counter() - start
    totals = sum([np.pad(part, (0, options.nodes - len(part))) for part in parts])
    for distance, count in enumerate(totals):
        if count:
            print(f"distance {distance}: {count} nodes")
    print(f"reached {sum(totals)} of {options.nodes} nodes over {options.edges} edges in {seconds:.1f} s")


if __name__ == "__main__":
    main()
