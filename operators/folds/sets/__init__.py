"""Sets of different values by slot, for compiled operators, that are rearranged a piece at a time."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.sets.links import forget_links, has_room_for_links, last_links, link_value, links_of
    from tokenring.operators.folds.sets.rehashing import ask_before, flags_before, rehash_some
    from tokenring.operators.folds.sets.value_sets import ValueSets
    from tokenring.operators.folds.sets.words import GONE, MOST_FLAGS, ValueSet
