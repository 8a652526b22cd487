"""Graphs kept up to date: what follows from edges (src, dst), of any one kind, at the cost of what an edge changes.
Null is a node, the greatest one."""

from typing import Any

from tokenring.engine import Loop, SchemaError
from tokenring.engine.arguments import whole_number
from tokenring.operators.collections.collection import Collection
from tokenring.operators.collections.row_operators import require_collection
from tokenring.operators.collections.words import TIMES
from tokenring.operators.expressions import Expression, col, lit
from tokenring.operators.folds import Count, Min, Sum

SURFERS = 6_000_000
"""At each node when ranks begin."""
_LABEL_BITS = 40
_ROUNDS_APART = 256


def distances(edges: Collection, roots: Collection) -> Collection:
    """Rows (node, distance): the fewest edges from any root (rows with a column `node`) to each node they reach."""
    out = _from(edges, "distances")
    out.require_same_scope("distances", roots)
    start = roots.select(node=col("node"), distance=lit(0)).distinct("roots")

    def body(found: Collection, loop: Loop) -> Collection:
        further = _by_node(found, out.enter(loop), "step")
        further = further.select(node=col("dst"), distance=col("distance") + 1)
        return further.concat(start.enter(loop)).aggregate("node", "nearest", distance=Min("distance"))

    return start.iterate(body, "distances")


def least_labels(edges: Collection, labels: Collection, in_turn: bool = False) -> Collection:
    """Rows (node, label): the least of the labels (rows of the same columns) that reach each node over edges. in_turn:
    labels begin in the order of their sizes, from 0 on, so that great ones do not go where smaller ones follow."""
    out = _from(edges, "least_labels")
    out.require_same_scope("least_labels", labels)
    begin = labels.select("node", "label")
    nothing = begin.filter(lit(False))

    def body(found: Collection, loop: Loop) -> Collection:
        entered = begin.enter(loop, _ROUNDS_APART * _bits(col("label"))) if in_turn else begin.enter(loop)
        further = _by_node(found, out.enter(loop), "step").select(node=col("dst"), label=col("label"))
        return further.concat(entered).aggregate("node", "least", label=Min("label"))

    return nothing.iterate(body, "labels")


def connected_components(edges: Collection) -> Collection:
    """Rows (node, label): the least node of each node's component, whichever way edges point."""
    edges = _edges(edges, "connected_components")
    both = edges.concat(turned(edges))
    return _least_of(both, both.select(node=col("src")))


def strong_edges(edges: Collection) -> Collection:
    """The edges (src, dst) within strongly connected components: those whose ends reach each other."""
    edges = _edges(edges, "strong_edges").distinct("edges")

    def body(inner: Collection, loop: Loop) -> Collection:
        entered = edges.enter(loop)
        return _of_one_label(_of_one_label(inner, entered), turned(entered))

    return edges.iterate(body, "strong")


def closure(edges: Collection) -> Collection:
    """Rows (src, dst), once each: whatever is reached over one edge or more."""
    edges = _edges(edges, "closure")
    out = _from(edges, "closure")

    def body(paths: Collection, loop: Loop) -> Collection:
        entered = out.enter(loop)
        further = _by_node(paths.select(src=col("src"), node=col("dst")), entered, "step")
        return further.select("src", "dst").concat(entered.select(src=col("node"), dst=col("dst"))).distinct("paths")

    return edges.filter(lit(False)).iterate(body, "closure")


def page_rank(edges: Collection, rounds: int = 20) -> Collection:
    """Rows (node, surfers): how many are at each node that has an edge after so many rounds, from SURFERS at each. In a
    round five sixths of a node's go on, as many over each of its edges, rounded down, and SURFERS / 6 come anew to each
    node. They are whole numbers, so what an edge changes ends where it is rounded away. UsageError for rounds below 1.
    """
    rounds = whole_number("operator 'page_rank'", "rounds", rounds, 1)
    out = _from(edges, "page_rank")
    degrees = out.aggregate("node", "degrees", degree=Count())
    nodes = edges.select(node=col("src")).concat(edges.select(node=col("dst"))).distinct("nodes")
    start = nodes.select(node=col("node"), surfers=lit(SURFERS))
    anew = nodes.select(node=col("node"), surfers=lit(SURFERS // 6))

    def body(ranks: Collection, loop: Loop) -> Collection:
        leaving = _by_node(ranks, degrees.enter(loop), "leaving")
        each = leaving.select(node=col("node"), surfers=5 * col("surfers") // (6 * col("degree")))
        pushed = _by_node(each, out.enter(loop), "pushed").select(node=col("dst"), surfers=col("surfers"))
        arrived = pushed.concat(anew.enter(loop)).aggregate("node", "arrived", surfers=Sum("surfers"))
        return arrived.filter(col(TIMES[arrived.depth - 1]) < rounds)

    return start.iterate(body, "page rank")


def turned(edges: Collection) -> Collection:
    """The edges the other way round."""
    return edges.select(src=col("dst"), dst=col("src"))


def _of_one_label(among: Collection, edges: Collection) -> Collection:
    """The edges, turned, whose ends have the same least label over the edges `among`."""
    labels = _least_of(among, among.select(node=col("dst")))
    edges = edges.select(node=col("src"), dst=col("dst"))
    begins = _by_node(edges, labels, "begins").select(node=col("dst"), src=col("node"), label=col("label"))
    return _by_node(begins, labels, "ends", "node label").select(src=col("node"), dst=col("src"))


def _least_of(edges: Collection, nodes: Collection) -> Collection:
    """Rows (node, label): the least of the nodes that reach each over edges."""
    labels = nodes.distinct("nodes").select(node=col("node"), label=col("node"))
    return least_labels(edges, labels, in_turn=str(labels.schema.kind("label")) == "int64")


def _by_node(rows: Collection, others: Collection, name: str, key: str = "node") -> Collection:
    """Pairs of rows of one node, or of one node and label, which may be null."""
    left, right = rows.arrange(key, f"{name}.left"), others.arrange(key, f"{name}.right")
    return left._joined(right, name, nulls_meet=True)


def _from(edges: Collection, name: str) -> Collection:
    """Edges (node, dst): by where they begin."""
    return _edges(edges, name).select(node=col("src"), dst=col("dst"))


def _edges(edges: Collection, name: str) -> Collection:
    """Edges (src, dst), whatever else the rows have."""
    require_collection(name, edges)
    schema = edges.schema
    if not {"src", "dst"} <= set(schema.names) or schema.kind("src") != schema.kind("dst"):
        raise SchemaError(
            f"operator {name!r}: edges have columns 'src' and 'dst' of one kind, not {schema!r}; select them so"
        )
    return edges.select("src", "dst")


def _bits(value: Any) -> Expression:
    """How many binary digits a number has, up to a trillion; so many for what is greater, too."""
    return sum([(value >= 1 << bit).cast("int64") for bit in range(1, _LABEL_BITS)], (value >= 1).cast("int64"))
