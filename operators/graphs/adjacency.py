"""Edges: which streams have them; and adjacency, those of a worker's nodes, by node, in compressed rows."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, AnyStream, Batch, Schema, SchemaError, kernel, void
from tokenring.engine.compiled import Words
from tokenring.operators.rows import select
from tokenring.operators.state import Keys, require_rows

EDGE = Schema("src dst")
_NODE = Schema("node")


def edges_of(operator: str, stream: AnyStream) -> AnyStream:
    """The edges (src, dst) that a stream's rows are, whatever else they have. GraphError for updates, SchemaError
    unless both columns are there, and int64."""
    require_rows(operator, stream)
    schema = stream.schema
    if not all([name in schema.positions and str(schema.kind(name)) == "int64" for name in EDGE.names]):
        raise SchemaError(
            f"operator {operator!r}: edges have nodes in columns 'src' and 'dst', both int64 and without nulls, not "
            f"{schema!r}: select them so, and give nodes that are no numbers one each (collections' graphs take texts)"
        )
    return stream if schema == EDGE else select(stream, *EDGE.names)


@kernel(void(COLUMN, COLUMN, WORDS, WORDS))
def _by_slot(slots: Words, targets: Words, offsets: Words, ordered: Words) -> None:
    """A counting sort of targets by slot. offsets: zeros, one for each slot and two more; from then on those of slot i
    lie at ordered[offsets[i]:offsets[i + 1]].
    """
    for i in range(len(slots)):
        offsets[slots[i] + 2] += 1
    for slot in range(2, len(offsets)):
        offsets[slot] += offsets[slot - 1]
    for i in range(len(slots)):
        place = slots[i] + 1
        ordered[offsets[place]] = targets[i]
        offsets[place] += 1


class Adjacency:
    """Where the edges of each node lead. Slots are those of `keys`, which others may add nodes to.

    Edges are added, then compressed once, then read: slot i leads to targets[offsets[i]:offsets[i + 1]], and slots from
    len(offsets) - 1 on lead nowhere.
    """

    def __init__(self) -> None:
        self.keys = Keys(_NODE, _NODE.names)
        self.offsets = np.zeros(1, np.int64)
        self.targets = np.empty(0, np.int64)
        self._added: list[Batch] = []

    def add(self, edges: Batch) -> None:
        """Keep edges: the first column is where they begin, the second where they lead (int64)."""
        self._added.append(edges.copy())

    def compress(self) -> None:
        """Put what was added in order, if anything was."""
        if not self._added:
            return
        edges = Batch.concatenate(self._added)
        self._added = []
        slots = self.keys.slots_of(edges.columns[0])
        offsets = np.zeros(self.keys.limit + 2, np.int64)
        self.targets = np.empty(edges.rows, np.int64)
        _by_slot(slots, edges.columns[1], offsets, self.targets)
        self.offsets = offsets[:-1]
