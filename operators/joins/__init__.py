"""Joins of streams: by key at any times, within windows or stretches of time; with what a table says, or said then."""

from operators.joins.join import join

__all__ = ["join"]
