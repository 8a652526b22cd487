"""Exhaustive model checks of the shared-memory protocols, each shown able to fail."""
