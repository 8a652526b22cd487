"""Flow control: regions of a dataflow whose content under way is bounded."""

from tokenring.operators.flow.limited import limited

__all__ = [
    "limited",
]
