"""Tests of operators/leaving."""
