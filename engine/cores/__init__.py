"""The cores of the machine: which of them a group's workers get, and whether they may spin there."""

from tokenring.engine.cores.claims import Claims
from tokenring.engine.cores.placement import Placement, place

__all__ = ["Claims", "Placement", "place"]
