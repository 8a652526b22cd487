"""Aggregation, against plain references."""
