"""Tests of engine/graph."""
