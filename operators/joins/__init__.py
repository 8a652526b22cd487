"""Joins of streams: by key at any times, within windows or stretches of time; with what a table says, or said then."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.joins.enrich import enrich
    from tokenring.operators.joins.interval_join import interval_join
    from tokenring.operators.joins.join import join
    from tokenring.operators.joins.look_up import look_up
    from tokenring.operators.joins.temporal_join import temporal_join
