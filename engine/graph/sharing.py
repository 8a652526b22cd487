"""One Reachability for all dataflows of one shape: there may be thousands."""

from weakref import WeakValueDictionary

import numpy as np

from tokenring.engine.graph.reachability import Link, Reachability
from tokenring.engine.times import IDENTITY

_SHARED: WeakValueDictionary[object, Reachability] = WeakValueDictionary()


def shared(links: list[Link], depths: list[int]) -> Reachability:
    """The one Reachability of all dataflows of this process with these links and depths."""
    ends = np.array([(origin, target) for origin, target, _ in links], np.int64)
    others = tuple([(at, summary) for at, (_, _, summary) in enumerate(links) if summary is not IDENTITY])
    key = (ends.tobytes(), others, bytes(depths))
    found = _SHARED.get(key)
    if found is None:
        found = _SHARED[key] = Reachability(links, depths)
    return found
