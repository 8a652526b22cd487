"""A dataflow's links as one flat array, for kernels: those into and out of each location, and the topological order.

    edges   LOCATIONS + 1 words: where each location's links from others begin; then for each such link its origin, and
            its delay; then the same for links to others: where they begin, their ends; then each location's rank in
            topological order; then the location of each rank
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine.times import COMPLETE, MAX_TIME, PathSummary
from tokenring.shm.kernels import WORDS, Words, int64, kernel


@kernel(int64(WORDS, int64, int64))
def _rank(edges: Words, size: int, links: int) -> int:
    """Fill in ranks (those before a location have lesser ones), and the locations by rank; how many could be ranked."""
    outs = size + 1 + 2 * links
    ranks, order = outs + size + 1 + links, outs + 2 * size + 1 + links
    for location in range(size):
        edges[ranks + location] = edges[location + 1] - edges[location]  # links that are still to come
    ranked = 0
    for location in range(size):
        if edges[ranks + location] == 0:
            edges[order + ranked] = location
            ranked += 1
    done = 0
    while done < ranked:
        location = edges[order + done]
        edges[ranks + location] = done
        done += 1
        for i in range(edges[outs + location], edges[outs + location + 1]):
            after = edges[outs + size + 1 + i]
            edges[ranks + after] -= 1
            if edges[ranks + after] == 0:
                edges[order + ranked] = after
                ranked += 1
    return ranked


@kernel(int64(WORDS, WORDS, int64))
def fill_row(edges: Words, row: Words, target: int) -> int:
    """Write the least delays to `target` into a row that is all COMPLETE."""
    size = len(row)
    links = edges[size]
    outs = size + 1 + 2 * links
    ranks, order = outs + size + 1 + links, outs + 2 * size + 1 + links
    row[target] = 0
    for rank in range(edges[ranks + target], -1, -1):
        location = edges[order + rank]
        if row[location] == COMPLETE:
            continue
        for i in range(edges[location], edges[location + 1]):
            origin, delay = edges[size + 1 + i], edges[size + 1 + links + i] + row[location]
            if delay <= MAX_TIME and delay < row[origin]:
                row[origin] = delay
    return 0


def compile_edges(links: Sequence[tuple[int, int, PathSummary]], size: int) -> np.ndarray | None:
    """The links between `size` locations as one array, int64; None if they have a cycle."""
    ends = np.array([(origin, target, summary.delays[0]) for origin, target, summary in links], np.int64).reshape(-1, 3)
    into, out_of = np.argsort(ends[:, 1], kind="stable"), np.argsort(ends[:, 0], kind="stable")
    everywhere = np.arange(size + 1)
    edges = np.concatenate(
        [
            np.searchsorted(ends[into, 1], everywhere),
            ends[into, 0],
            ends[into, 2],
            np.searchsorted(ends[out_of, 0], everywhere),
            ends[out_of, 1],
            np.zeros(2 * size, np.int64),
        ]
    )
    return edges if _rank(edges, size, len(links)) == size else None
