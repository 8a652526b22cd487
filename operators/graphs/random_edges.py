"""random_edges: a directed graph that a seed describes, made in parts and equal for any number of workers."""

import numpy as np

from tokenring.engine import WORDS, Batch, Schema, int64, kernel, void
from tokenring.engine.arguments import whole_number
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.state import mixed

_EDGE = Schema("src dst")


@kernel(void(int64, int64, int64, int64, WORDS, WORDS))
def _make(nodes: int, first: int, step: int, seed: int, src: Words, dst: Words) -> None:
    salt = signed(mixed(seed))
    for i in range(len(src)):
        number = 2 * (first + i * step)
        src[i] = mixed(mixed(number) ^ unsigned(salt)) % unsigned(nodes)
        dst[i] = mixed(mixed(number + 1) ^ unsigned(salt)) % unsigned(nodes)


def random_edges(nodes: int, edges: int, seed: int = 0, part: int = 0, parts: int = 1) -> Batch:
    """Every `parts`-th of `edges` edges (src, dst), int64, from the one numbered `part` on; both ends uniform over
    0..nodes - 1, each edge a function of its number and the seed. UsageError for no nodes, and for a part there is not.
    """
    nodes, edges = whole_number("random_edges", "nodes", nodes), whole_number("random_edges", "edges", edges, 0)
    parts = whole_number("random_edges", "parts", parts)
    part = whole_number("random_edges", "part", part, 0, parts - 1)
    rows = len(range(part, edges, parts))
    src, dst = np.empty(rows, np.int64), np.empty(rows, np.int64)
    _make(nodes, part, parts, seed, src, dst)
    return Batch.wrap(_EDGE, (src, dst), rows)
