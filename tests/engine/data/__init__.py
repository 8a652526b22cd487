"""Tests of engine/data."""
