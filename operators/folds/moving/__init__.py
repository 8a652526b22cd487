"""Aggregates' state as tables of columns, out of slots and into them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.moving.kept_folds import KeptFolds, fold_kinds
