"""Aggregates of five functions: those of the house, and the users' own."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.own.extreme_rows import ArgMax, ArgMin
    from tokenring.operators.folds.own.own_aggregate import ByColumn, OfFunctions, OwnAggregate
    from tokenring.operators.folds.own.quantile import ApproxQuantile
    from tokenring.operators.folds.own.variance import StdDev, Variance
