"""Graphs: operators that loop over edges until nothing is under way, for streams of rows (src, dst).

least_values      the least value that reaches each node
connected_components, strongly_connected_components  which nodes belong together
page_rank         how important each node is
random_edges      a graph to try them on
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.graphs.components import connected_components, ends, strongly_connected_components
    from tokenring.operators.graphs.least_values import least_values
    from tokenring.operators.graphs.page_rank import page_rank
    from tokenring.operators.graphs.random_edges import random_edges

__all__ = [
    "connected_components",
    "ends",
    "least_values",
    "page_rank",
    "random_edges",
    "strongly_connected_components",
]
