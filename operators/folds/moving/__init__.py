"""Aggregates' state as tables of columns, out of slots and into them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.moving.fold_tables import fold_kinds
    from tokenring.operators.folds.moving.kept_folds import KeptFolds

__all__ = ["KeptFolds", "fold_kinds"]
