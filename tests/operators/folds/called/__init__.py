"""Aggregates of functions: what is called."""
