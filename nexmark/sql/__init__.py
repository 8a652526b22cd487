"""The queries in Spark SQL, a file each: the oracle's, and what `tokenring run --engine spark` runs.

They ask three views, person, auction and bid, which have all columns of nexmark/schema.py (text that the events lack is
null) and `event`, a row's place among all events. Times are whole nanoseconds, money is whole. docs/nexmark-queries.md
says what each means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

QUERIES: Final = tuple([f"q{number}" for number in range(23)])


def sql(query: str) -> str:
    """The text of one of QUERIES."""
    return (Path(__file__).parent / f"{query}.sql").read_text()
