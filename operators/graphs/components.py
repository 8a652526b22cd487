"""connected_components, strongly_connected_components: which nodes belong together, each named by its least node."""

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema
from tokenring.operators import joins
from tokenring.operators.graphs.adjacency import EDGE, edges_of
from tokenring.operators.graphs.least_values import NODE_VALUE, least_values
from tokenring.operators.rows import filter_batches, map_batches, union
from tokenring.operators.state import Keys

COMPONENT = Schema("node component")


def ends(edges: AnyStream) -> AnyStream:
    """Rows (node, value): the nodes of edges (src, dst), each with itself as its value, a few times over. SchemaError
    for edges whose nodes are not int64."""
    edges = edges_of("ends", edges)

    def both(batch: Batch) -> dict[str, np.ndarray]:
        keys = Keys(NODE_VALUE, ("node",))
        keys.slots_of(batch.words("src"))
        keys.slots_of(batch.words("dst"))
        nodes = keys.words(0)
        return {"node": nodes, "value": nodes}

    return map_batches(edges, NODE_VALUE, both, "ends")


def reversed_edges(edges: AnyStream) -> AnyStream:
    """The same edges (src, dst) the other way round."""
    return map_batches(edges, EDGE, lambda batch: {"src": batch["dst"], "dst": batch["src"]}, "reversed_edges")


def connected_components(edges: AnyStream) -> AnyStream:
    """Rows (node, component), int64, one for each node that has an edge (src, dst) at that time: the least node that is
    connected with it, whatever the edges' directions. SchemaError for nodes that are not int64.
    """
    edges = edges_of("connected_components", edges)
    ways = union(edges, reversed_edges(edges))
    return _named(least_values(ways, ends(edges), name="connected"))


def strongly_connected_components(edges: AnyStream) -> AnyStream:
    """Rows (node, component), int64, one for each node on a cycle of edges (src, dst) of that time: the least node that
    it reaches and is reached from. Nodes that are not there are components of their own.

    An outer loop over the edges that are left, with two loops within. Forwards, the least node that reaches each is
    found, F; over the edges whose ends agree on that, backwards, the least that each reaches, B. An edge within a
    component has ends with the same F and the same B, so others are dropped. Where F = B, that node reaches these and
    they reach it: a component is found and its edges leave. The rest goes round. The least node of all that are left is
    found or loses its edges in each round, so there is an end, and no worker has to be told: nothing is left to go
    round, and the frontier passes. After the example of Naiad and differential dataflow, which drop edges in the same
    way and go on until nothing changes. Errors as of `connected_components`.
    """
    edges = edges_of("strongly_connected_components", edges)
    with edges.scope.loop("trim") as loop:
        back = loop.feedback(EDGE)
        entered = loop.enter(filter_batches(edges, lambda batch: batch["src"] != batch["dst"], "no self-loops"))
        left = union(entered, back.stream)
        forwards = _agreeing(left, least_values(left, ends(left), name="forwards"), "forwards")
        turned = reversed_edges(forwards)
        backwards = least_values(turned, ends(turned), name="backwards")
        both = _agreeing(forwards, backwards, "backwards")
        found = filter_batches(both, lambda batch: batch["forwards"] == batch["backwards"], "found")
        rest = filter_batches(both, lambda batch: batch["forwards"] != batch["backwards"], "rest")
        back.connect(map_batches(rest, EDGE, lambda batch: {"src": batch["src"], "dst": batch["dst"]}, "again"))
        # All edges of a time that lead to a node come in one batch: see look_up.
        members = map_batches(found, COMPONENT, _members, "members")
    return loop.leave(members)


def _members(found: Batch) -> dict[str, np.ndarray]:
    """Each node that an edge of a component leads to, once: every node of it is one."""
    nodes, rows = np.unique(found["dst"], return_index=True)
    return {"node": nodes, "component": found["forwards"][rows]}


def _agreeing(edges: AnyStream, labels: AnyStream, label: str) -> AnyStream:
    """The edges whose ends have the same label, with a column for it, at the worker that owns `dst`."""
    half = joins.look_up(edges, "src", labels, label, f"{label} of src")
    whole = joins.look_up(half, "dst", labels, "other", f"{label} of dst")
    schema = Schema(" ".join(half.schema.names))

    def agree(batch: Batch) -> dict[str, np.ndarray]:
        chosen = batch[label] == batch["other"]
        return {name: batch[name][chosen] for name in schema.names}

    return map_batches(whole, schema, agree, f"{label} agree")


def _named(labels: AnyStream) -> AnyStream:
    """Rows (node, value) as rows (node, component)."""
    return map_batches(
        labels, COMPONENT, lambda batch: {"node": batch["node"], "component": batch["value"]}, "components"
    )
