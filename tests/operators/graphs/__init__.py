"""Tests of tokenring.operators.graphs."""
