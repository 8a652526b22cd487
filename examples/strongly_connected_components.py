"""Strongly connected components: nodes that reach each other, by loops within a loop.

Times in the inner loops are (epoch, turn, round): a turn of the outer loop sends the edges that are left through an
inner loop forwards and another backwards, drops those that join different components, lets found components leave and
leads the rest round. The look-ups between the loops wait for `finished((epoch, turn))`, which the frontier says once
the inner loop has no round of that turn under way; no worker ever asks another whether it is done.

    python examples/strongly_connected_components.py --nodes 500000 --edges 1000000 --workers 2
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from time import perf_counter

import numpy as np

import tokenring as tr


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    def edges(worker: int, peers: int) -> Iterator[tr.Batch]:  # each worker makes its share
        yield tr.graphs.random_edges(options.nodes, options.edges, options.seed, worker, peers)

    def pipeline(scope: tr.Scope) -> tr.Collected:
        return scope.from_generator(tr.Schema("src dst"), edges).strongly_connected_components().collect()

    start = perf_counter()
    found = tr.run(pipeline, workers=options.workers)
    seconds = perf_counter() - start
    _, sizes = np.unique(found["component"], return_counts=True)
    for size, number in sorted(Counter(sizes.tolist()).items(), reverse=True):
        print(f"{number} component(s) of {size} nodes")
    print(f"{found.num_rows} nodes on cycles of {options.edges} edges in {seconds:.1f} s")


if __name__ == "__main__":
    main()
