"""Tests of engine/ask."""
