"""Tests of operators/state."""
