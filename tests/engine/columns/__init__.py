"""Tests of engine/columns."""
