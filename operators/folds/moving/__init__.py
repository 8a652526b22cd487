"""Aggregates' state as tables of columns, out of slots and into them, for Python and for compiled operators."""

from tokenring.operators.folds.moving.fold_tables import fold_kinds
from tokenring.operators.folds.moving.kept_folds import CompiledFolds, KeptFolds

__all__ = ["CompiledFolds", "KeptFolds", "fold_kinds"]
