"""Joins of streams: by key at any times, within windows or stretches of time; with what a table says, or said then."""

from operators.joins.enrich import enrich
from operators.joins.interval_join import interval_join
from operators.joins.join import join
from operators.joins.temporal_join import temporal_join

__all__ = ["enrich", "interval_join", "join", "temporal_join"]
