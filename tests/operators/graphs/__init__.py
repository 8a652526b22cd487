"""Tests of operators.graphs."""
