"""Regions whose content is bounded: what the bound saves where rows multiply, and costs where they do not."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.flow.experiment import FLOW
    from tokenring.nexmark.bench.flow.multiplied import BOUNDS

__all__ = ["BOUNDS", "FLOW"]
