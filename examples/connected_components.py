"""Connected components: every node learns the least node that it is connected with, as a loop.

Each node begins with itself and passes on what is less, in rounds. The loop's own tokens and messages are at times
(epoch, round); outside of it they count as the epoch, so the probe behind the loop shows epoch 0 until the last worker
has nothing more to pass on. Two graphs are fed, one an epoch, and each is answered as soon as it can be.

    python examples/connected_components.py --nodes 500000 --edges 1000000 --workers 2
"""

import argparse
from collections import Counter
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

    def program(worker: tr.Worker) -> list[list[np.ndarray]]:
        with worker.dataflow("connected components") as scope:
            edges, stream = scope.new_input(tr.Schema("src dst"), "edges")
            components = stream.connected_components()
            found = components.collect()
            probe = components.probe()
        sizes, known = [], 0
        for epoch in range(2):
            seed = options.seed + epoch
            share = tr.graphs.random_edges(options.nodes, options.edges, seed, worker.index, worker.peers)
            edges.send(share)
            edges.advance_to(epoch + 1)
            worker.step_while(lambda: probe.less_than(edges.time))  # until no round of this epoch is left
            names = found.columns()["component"][known:]
            known += len(names)
            sizes.append(list(np.unique(names, return_counts=True)))  # this worker's nodes, by component
        return sizes

    start = perf_counter()
    parts = tr.execute(program, workers=options.workers)
    seconds = perf_counter() - start
    for epoch in range(2):
        sizes: Counter[int] = Counter()
        for part in parts:
            sizes.update(dict(zip(*part[epoch], strict=True)))
        (name, most), *_ = sizes.most_common(1)
        print(f"graph {epoch}: {sum(sizes.values())} nodes in {len(sizes)} components, {most} in that of node {name}")
    print(f"two graphs of {options.edges} edges in {seconds:.1f} s")


if __name__ == "__main__":
    main()
