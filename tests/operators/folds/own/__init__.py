"""Aggregates of five functions, beside plain Python."""
