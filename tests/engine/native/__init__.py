"""Compiled operators: their loop, memory, tokens, edges, errors."""
