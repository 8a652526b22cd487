"""Q7: the highest price of each window of 10 s, reduced on each worker and then across workers (the paper's and
Megaphone's meaning).
"""

from collections.abc import Callable
from typing import Any

from engine import Stream
from nexmark.queries.query import Query
from operators import collect, tumbling_max
from operators.mechanisms import TOKENS, Mechanism, Progress

WINDOW_NS = 10_000_000_000


def build(bids: Stream, way: Mechanism = TOKENS) -> tuple[Progress, Callable[[], dict[str, Any]]]:
    """Window maxima at their windows' ends."""
    maxima = tumbling_max(bids, time="date_time", value="price", width=WINDOW_NS, way=way)
    return way.probe(maxima), collect(maxima, name="result").columns


Q7 = Query(
    name="q7",
    reads={"bid": ("date_time", "price")},
    build=build,
    columns=("window_end", "price"),
    sort_by="window_end",
)
