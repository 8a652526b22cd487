"""Flow control: regions of a dataflow whose content under way is bounded."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.flow.limited import limited
