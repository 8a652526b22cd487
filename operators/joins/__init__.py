"""Joins of streams: by key at any times, within windows or stretches of time; with what a table says, or said then."""

from operators.joins.interval_join import interval_join
from operators.joins.join import join

__all__ = ["interval_join", "join"]
