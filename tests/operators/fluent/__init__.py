"""Tests of operators as methods."""
