"""Collections under recovery: the rows that come in are kept and come again, and what was handed out does not."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.saved.coming_in import KeptRows, imported_once, with_those_saved
    from tokenring.operators.collections.saved.handed_out import exported, handed_out
