"""State that moves while the stream goes on: the latency of it by plan, of counts by key and of NEXMark's queries."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.migration.drawing import draw_timelines
    from tokenring.nexmark.bench.migration.key_count import measured_key_count
    from tokenring.nexmark.bench.migration.queries import QUERIES, measured_query
    from tokenring.nexmark.bench.migration.tables import render

__all__ = ["QUERIES", "draw_timelines", "measured_key_count", "measured_query", "render"]
