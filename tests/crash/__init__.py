"""Whole groups that are killed or interrupted: one clear error, nothing left."""
