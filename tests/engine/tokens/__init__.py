"""Tests of engine/tokens."""
