"""Q3: who sells in one category from three states: names, cities, states and auctions (Megaphone's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import col, join

CATEGORY = 10
STATES = ("OR", "ID", "CA")


def build(auctions: Stream, people: Stream) -> Stream:
    """Auctions of the category joined with people of the states, whoever comes first."""
    return join(
        auctions, people, on={"seller": "id"}, columns="name city state left.id", unique="right",
        left_where=col("category") == CATEGORY, right_where=col("state").is_in(STATES),
    )  # fmt: skip


Q3 = Query(
    name="q3",
    reads={"auction": ("id", "seller", "category"), "person": ("id", "name", "city", "state")},
    build=build,
    result=Schema.of({"name": "string?", "city": "string?", "state": "string?", "id": "int64"}),
)
