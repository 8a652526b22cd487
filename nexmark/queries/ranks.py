"""Ranks of bids by price, which Q15, Q16 and Q17 count by."""

from collections.abc import Callable
from typing import Any

from tokenring.operators import Count, CountDistinct, Expression, col
from tokenring.operators.folds import Aggregate

RANKS: dict[str, Expression | None] = {
    "total": None,
    "rank1": col("price") < 10_000,
    "rank2": (col("price") >= 10_000) & (col("price") < 1_000_000),
    "rank3": col("price") >= 1_000_000,
}
COUNTS = " ".join([f"{rank}_{what}" for what in ("bids", "bidders", "auctions") for rank in RANKS])
"""The columns of `counts`."""


def of_each_rank(what: str, make: Callable[[Expression | None], Aggregate]) -> dict[str, Any]:
    """An aggregate of all bids, and of those of each rank: named total_bids, rank1_bids and so on."""
    return {f"{rank}_{what}": make(condition) for rank, condition in RANKS.items()}


def counts() -> dict[str, Any]:
    """How many bids, different bidders and different auctions there are."""
    return (
        of_each_rank("bids", lambda condition: Count(where=condition))
        | of_each_rank("bidders", lambda condition: CountDistinct("bidder", where=condition))
        | of_each_rank("auctions", lambda condition: CountDistinct("auction", where=condition))
    )
