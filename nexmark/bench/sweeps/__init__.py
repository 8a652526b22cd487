"""What is swept: options that take several values, their defaults, and points measured one after the other."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.bench.sweeps.options import ExperimentCommand, ListCommand, Number
    from tokenring.nexmark.bench.sweeps.sizes import EXCHANGING, OPERATOR_KINDS, QUERIES, QUICK, chosen, said
    from tokenring.nexmark.bench.sweeps.sources import EACH_TIME, SAID, SOURCES, by_source, sourced_points
    from tokenring.nexmark.bench.sweeps.sweep import Experiment, Job, Row, measure_all, points

__all__ = [
    "EACH_TIME",
    "EXCHANGING",
    "Experiment",
    "ExperimentCommand",
    "Job",
    "ListCommand",
    "Number",
    "OPERATOR_KINDS",
    "QUERIES",
    "QUICK",
    "Row",
    "SAID",
    "SOURCES",
    "by_source",
    "chosen",
    "measure_all",
    "points",
    "said",
    "sourced_points",
]
