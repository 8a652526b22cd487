"""The queries in Spark SQL, a file each: the oracle's, and what `tokenring run --engine spark` runs.

They ask three views, person, auction and bid, which have all columns that events of these kinds can have (text that
the staged ones lack is null) and `event`, a row's place among all events. Times are whole nanoseconds, money is whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

QUERIES: Final = tuple([f"q{number}" for number in range(23)])

STREAMED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("q0", "q1", "q2", "q3", "q8", "q10", "q13", "q14", "q20", "q21", "q22"), ()),
    "q7": ("window_end",),
    "q12": ("bidder",),
    "q17": ("auction", "day"),
    "q18": ("bidder", "auction"),
}
"""The queries whose text Structured Streaming runs as it stands. () for those that only append rows; of the others, the
columns that name a row which later ones replace."""

NOT_STREAMED: Final = {
    **dict.fromkeys(("q4", "q5"), "it aggregates an aggregate, which Structured Streaming does not"),
    **dict.fromkeys(("q6", "q9", "q11", "q19"), "it orders the rows of a key, which Structured Streaming does not"),
    **dict.fromkeys(("q15", "q16"), "it counts distinct values, which Structured Streaming does not"),
}
"""Why it does not run the others."""


def sql(query: str) -> str:
    """The text of one of QUERIES."""
    return (Path(__file__).parent / f"{query}.sql").read_text()
