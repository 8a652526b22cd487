"""Regions whose content is bounded: what the bound saves where rows multiply, and costs where they do not."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.flow.multiplied import BOUNDS, measured_multiplied
    from tokenring.nexmark.bench.flow.overhead import OVERHEADS, WORD_COUNT, measured_overhead
    from tokenring.nexmark.bench.flow.tables import render

__all__ = ["BOUNDS", "OVERHEADS", "WORD_COUNT", "measured_multiplied", "measured_overhead", "render"]
