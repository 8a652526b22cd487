"""The cores of the machine: which of them a group's workers get, and whether they may spin there."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.cores.claims import Claims
    from tokenring.engine.cores.placement import Placement, place
    from tokenring.engine.cores.quota import cpu_quota, within_quota
