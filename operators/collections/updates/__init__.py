"""Updates of collections as sorted columnar batches: in order, merged, found by key."""

from tokenring.operators.collections.updates.merging import find_rows
from tokenring.operators.collections.updates.sealed import Sealed
from tokenring.operators.collections.updates.spine import Spine

__all__ = ["Sealed", "Spine", "find_rows"]
