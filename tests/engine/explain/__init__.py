"""Tests of engine/explain."""
