"""Aggregates' state as tables of columns, out of slots and into them, for Python and for compiled operators."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.moving.compiled_folds import CompiledFolds
    from tokenring.operators.folds.moving.fold_tables import fold_kinds
    from tokenring.operators.folds.moving.kept_folds import KeptFolds

__all__ = ["CompiledFolds", "KeptFolds", "fold_kinds"]
